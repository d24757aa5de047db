-- How slow each kernel is on each processor, over all cases that were measured under all kernels of the processor.
--
-- A case's cost under a kernel is the median of its hosts, a host's the median of its runs. ratio: the geometric mean over the cases of
-- this cost divided by that under the kernel where the case is fastest. largest_ratio: the same of the case where it is largest.
WITH runs AS (
  SELECT operation, params, environment, language, coalesce(cpu, '') AS cpu, kernel, host, median_ns AS ns
  FROM costs
  WHERE kind = 'cost' AND median_ns > 0 AND host IS NOT NULL AND kernel IS NOT NULL
),
ranked_runs AS (
  SELECT *,
    row_number() OVER (PARTITION BY operation, params, environment, language, cpu, kernel, host ORDER BY ns) AS place,
    count(*) OVER (PARTITION BY operation, params, environment, language, cpu, kernel, host) AS runs
  FROM runs
),
by_host AS (
  SELECT operation, params, environment, language, cpu, kernel, host, avg(ns) AS host_ns
  FROM ranked_runs
  WHERE 2 * place BETWEEN runs AND runs + 2
  GROUP BY operation, params, environment, language, cpu, kernel, host
),
ranked_hosts AS (
  SELECT *,
    row_number() OVER (PARTITION BY operation, params, environment, language, cpu, kernel ORDER BY host_ns) AS place,
    count(*) OVER (PARTITION BY operation, params, environment, language, cpu, kernel) AS hosts
  FROM by_host
),
by_kernel AS (
  SELECT operation, params, environment, language, cpu, kernel, hosts, avg(host_ns) AS kernel_ns
  FROM ranked_hosts
  WHERE 2 * place BETWEEN hosts AND hosts + 2
  GROUP BY operation, params, environment, language, cpu, kernel, hosts
),
compared AS (
  SELECT *,
    kernel_ns / min(kernel_ns) OVER (PARTITION BY operation, params, environment, language, cpu) AS to_fastest,
    count(*) OVER (PARTITION BY operation, params, environment, language, cpu) AS kernels_of_case
  FROM by_kernel
),
of_all AS (
  SELECT *, max(kernels_of_case) OVER (PARTITION BY cpu) AS kernels_of_cpu
  FROM compared
)
SELECT cpu, kernel, exp(avg(ln(to_fastest))) AS ratio, max(to_fastest) AS largest_ratio, count(*) AS cases, max(hosts) AS hosts
FROM of_all
WHERE kernels_of_case = kernels_of_cpu
GROUP BY cpu, kernel
ORDER BY cpu, ratio DESC, kernel
