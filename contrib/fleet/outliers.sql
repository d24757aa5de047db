-- Hosts whose cost of a case is far from that of the other hosts with the same processor and kernel.
--
-- A host's cost is the median of its runs, a group's the median of its hosts. deviations: how many standard deviations lie
-- between them, each 1.4826 times the median of the hosts' absolute deviations (MAD), at least 0.5% of the cost.
-- Shown if the group has 10 hosts, the cost differs by 5% of the group's, and by
-- 5.5 + 80 / hosts deviations: a small group's MAD is uncertain.
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
hosts AS (
  SELECT operation, params, environment, language, cpu, kernel, host, runs, avg(ns) AS host_ns
  FROM ranked_runs
  WHERE 2 * place BETWEEN runs AND runs + 2
  GROUP BY operation, params, environment, language, cpu, kernel, host, runs
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
  SELECT *, host_ns / group_ns - 1 AS deviation,
    row_number() OVER (PARTITION BY operation, params, environment, language, cpu, kernel ORDER BY abs(host_ns / group_ns - 1)) AS distance
  FROM centred
),
scaled AS (
  SELECT *,
    greatest(1.4826e0 * avg(CASE WHEN 2 * distance BETWEEN hosts AND hosts + 2 THEN abs(deviation) END)
      OVER (PARTITION BY operation, params, environment, language, cpu, kernel), 5e-3) AS scale
  FROM deviating
),
flagged AS (
  SELECT *, count(*) OVER (PARTITION BY host) AS flagged_cases
  FROM scaled
  WHERE hosts >= 10 AND abs(deviation) >= 5e-2
    AND abs(deviation) >= scale * (5.5e0 + 8e1 / hosts)
)
SELECT operation, params, environment, language, cpu, kernel, host, host_ns, group_ns, host_ns / group_ns AS ratio, deviation / scale AS deviations, hosts, runs, flagged_cases
FROM flagged
ORDER BY flagged_cases DESC, host, abs(deviation / scale) DESC, operation, params, environment, language
