-- Kernel upgrades that changed the cost of a case on hosts with the same processor.
--
-- Each host is compared with itself: the median of its runs on the new kernel divided by that on the kernel before. ratio: the
-- median of the hosts; deviations: how many standard errors of that median lie between it and 1, by the hosts' MAD, at least
-- 0.5% of the cost. A host that ran one kernel only does not count. since_unix_s: the first run on the new kernel.
-- Shown from 10 hosts, a change of 5%, and 5.5 + 80 / hosts standard errors.
WITH runs AS (
  SELECT operation, params, environment, language, coalesce(cpu, '') AS cpu, host, kernel, started_unix_s, median_ns AS ns
  FROM costs
  WHERE kind = 'cost' AND median_ns > 0 AND host IS NOT NULL AND kernel IS NOT NULL
),
ranked_runs AS (
  SELECT *,
    row_number() OVER (PARTITION BY operation, params, environment, language, cpu, host, kernel ORDER BY ns) AS place,
    count(*) OVER (PARTITION BY operation, params, environment, language, cpu, host, kernel) AS runs,
    min(started_unix_s) OVER (PARTITION BY operation, params, environment, language, cpu, host, kernel) AS first_s
  FROM runs
),
kernels AS (
  SELECT operation, params, environment, language, cpu, host, kernel, first_s, avg(ns) AS kernel_ns
  FROM ranked_runs
  WHERE 2 * place BETWEEN runs AND runs + 2
  GROUP BY operation, params, environment, language, cpu, host, kernel, first_s
),
steps AS (
  SELECT *,
    lag(kernel) OVER (PARTITION BY operation, params, environment, language, cpu, host ORDER BY first_s, kernel) AS kernel_from,
    lag(kernel_ns) OVER (PARTITION BY operation, params, environment, language, cpu, host ORDER BY first_s, kernel) AS ns_from,
    row_number() OVER (PARTITION BY operation, params, environment, language, cpu, host ORDER BY first_s, kernel) AS step
  FROM kernels
),
changes AS (
  SELECT operation, params, environment, language, cpu, host, kernel_from, kernel AS kernel_to, first_s, kernel_ns / ns_from AS change
  FROM steps
  WHERE step > 1
),
ranked_changes AS (
  SELECT *,
    row_number() OVER (PARTITION BY operation, params, environment, language, cpu, kernel_from, kernel_to ORDER BY change) AS place,
    count(*) OVER (PARTITION BY operation, params, environment, language, cpu, kernel_from, kernel_to) AS hosts
  FROM changes
),
centred AS (
  SELECT *, avg(CASE WHEN 2 * place BETWEEN hosts AND hosts + 2 THEN change END)
    OVER (PARTITION BY operation, params, environment, language, cpu, kernel_from, kernel_to) AS ratio
  FROM ranked_changes
),
deviating AS (
  SELECT *, abs(change - ratio) AS deviation,
    row_number() OVER (PARTITION BY operation, params, environment, language, cpu, kernel_from, kernel_to ORDER BY abs(change - ratio)) AS distance
  FROM centred
),
upgrades AS (
  SELECT operation, params, environment, language, cpu, kernel_from, kernel_to, ratio, hosts, min(first_s) AS since_unix_s,
    greatest(1.4826e0 * avg(CASE WHEN 2 * distance BETWEEN hosts AND hosts + 2 THEN deviation END), 5e-3)
      * 1.2533e0 / sqrt(hosts) AS error
  FROM deviating
  GROUP BY operation, params, environment, language, cpu, kernel_from, kernel_to, ratio, hosts
)
SELECT operation, params, environment, language, cpu, kernel_from, kernel_to, ratio, (ratio - 1) / error AS deviations, hosts, since_unix_s
FROM upgrades
WHERE hosts >= 10 AND abs(ratio - 1) >= 5e-2
  AND abs(ratio - 1) >= error * (5.5e0 + 8e1 / hosts)
ORDER BY abs(ratio - 1) DESC, operation, params, environment, language, cpu, kernel_from, kernel_to
