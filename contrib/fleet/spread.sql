-- How far costs scatter between the hosts with the same processor and kernel, and between the runs of one host.
--
-- between_hosts: the MAD of the hosts' medians as a standard deviation (times 1.4826), relative to the group's median.
-- within_hosts: the same of the runs around the median of their host. least_ratio and largest_ratio: the fastest and the
-- slowest host, relative to the group's median.
WITH runs AS (
  SELECT operation, params, environment, language, coalesce(cpu, '') AS cpu, coalesce(kernel, '') AS kernel, host, median_ns AS ns
  FROM costs
  WHERE kind = 'cost' AND median_ns > 0 AND host IS NOT NULL
),
ranked_runs AS (
  SELECT *,
    row_number() OVER (PARTITION BY operation, params, environment, language, cpu, kernel, host ORDER BY ns) AS place,
    count(*) OVER (PARTITION BY operation, params, environment, language, cpu, kernel, host) AS runs
  FROM runs
),
of_hosts AS (
  SELECT *, avg(CASE WHEN 2 * place BETWEEN runs AND runs + 2 THEN ns END) OVER (PARTITION BY operation, params, environment, language, cpu, kernel, host) AS host_ns
  FROM ranked_runs
),
deviating_runs AS (
  SELECT *, abs(ns / host_ns - 1) AS deviation,
    row_number() OVER (PARTITION BY operation, params, environment, language, cpu, kernel ORDER BY abs(ns / host_ns - 1)) AS distance,
    count(*) OVER (PARTITION BY operation, params, environment, language, cpu, kernel) AS all_runs
  FROM of_hosts
),
hosts AS (
  SELECT operation, params, environment, language, cpu, kernel, host, host_ns, count(*) AS host_runs,
    sum(CASE WHEN 2 * distance BETWEEN all_runs AND all_runs + 2 THEN deviation ELSE 0e0 END) AS within_sum,
    sum(CASE WHEN 2 * distance BETWEEN all_runs AND all_runs + 2 THEN 1 ELSE 0 END) AS within_count
  FROM deviating_runs
  GROUP BY operation, params, environment, language, cpu, kernel, host, host_ns
),
ranked_hosts AS (
  SELECT *,
    row_number() OVER (PARTITION BY operation, params, environment, language, cpu, kernel ORDER BY host_ns) AS place,
    count(*) OVER (PARTITION BY operation, params, environment, language, cpu, kernel) AS hosts
  FROM hosts
),
centred AS (
  SELECT *, avg(CASE WHEN 2 * place BETWEEN hosts AND hosts + 2 THEN host_ns END) OVER (PARTITION BY operation, params, environment, language, cpu, kernel) AS group_ns
  FROM ranked_hosts
),
deviating AS (
  SELECT *, host_ns / group_ns AS ratio,
    row_number() OVER (PARTITION BY operation, params, environment, language, cpu, kernel ORDER BY abs(host_ns / group_ns - 1)) AS distance
  FROM centred
)
SELECT operation, params, environment, language, cpu, kernel, group_ns AS median_ns,
  1.4826e0 * avg(CASE WHEN 2 * distance BETWEEN hosts AND hosts + 2 THEN abs(ratio - 1) END) AS between_hosts,
  1.4826e0 * sum(within_sum) / sum(within_count) AS within_hosts,
  min(ratio) AS least_ratio, max(ratio) AS largest_ratio, hosts, sum(host_runs) AS runs
FROM deviating
GROUP BY operation, params, environment, language, cpu, kernel, group_ns, hosts
ORDER BY operation, params, environment, language, cpu, kernel
