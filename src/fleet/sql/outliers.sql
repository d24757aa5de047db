-- Hosts whose cost of a case is far from that of the other hosts with the same {group}.
--
-- A host's cost is the median of its runs, a group's the median of its hosts. deviations: how many standard deviations lie
-- between them, each 1.4826 times the median of the hosts' absolute deviations (MAD), at least {least_scale} of the cost.
-- Shown if the group has {fewest_hosts} hosts, the cost differs by {least_change} of the group's, and by
-- {deviations} + {small_groups} / hosts deviations: a small group's MAD is uncertain.
WITH runs AS (
  SELECT {case_of_rows}, {group_of_rows}, host, median_ns AS ns
  FROM {rows}
  WHERE status = 'ok' AND median_ns > 0 AND host IS NOT NULL
),
ranked_runs AS (
  SELECT *,
    row_number() OVER (PARTITION BY {case}, {group}, host ORDER BY ns) AS place,
    count(*) OVER (PARTITION BY {case}, {group}, host) AS runs
  FROM runs
),
hosts AS (
  SELECT {case}, {group}, host, runs, avg(ns) AS host_ns
  FROM ranked_runs
  WHERE 2 * place BETWEEN runs AND runs + 2
  GROUP BY {case}, {group}, host, runs
),
ranked_hosts AS (
  SELECT *,
    row_number() OVER (PARTITION BY {case}, {group} ORDER BY host_ns) AS place,
    count(*) OVER (PARTITION BY {case}, {group}) AS hosts
  FROM hosts
),
centred AS (
  SELECT *, avg(CASE WHEN 2 * place BETWEEN hosts AND hosts + 2 THEN host_ns END) OVER (PARTITION BY {case}, {group}) AS group_ns
  FROM ranked_hosts
),
deviating AS (
  SELECT *, host_ns / group_ns - 1 AS deviation,
    row_number() OVER (PARTITION BY {case}, {group} ORDER BY abs(host_ns / group_ns - 1)) AS distance
  FROM centred
),
scaled AS (
  SELECT *,
    greatest(1.4826e0 * avg(CASE WHEN 2 * distance BETWEEN hosts AND hosts + 2 THEN abs(deviation) END)
      OVER (PARTITION BY {case}, {group}), {least_scale}) AS scale
  FROM deviating
),
flagged AS (
  SELECT *, count(*) OVER (PARTITION BY host) AS flagged_cases
  FROM scaled
  WHERE hosts >= {fewest_hosts} AND abs(deviation) >= {least_change}
    AND abs(deviation) >= scale * ({deviations} + {small_groups} / hosts)
)
SELECT {case}, {group}, host, host_ns, group_ns, host_ns / group_ns AS ratio, deviation / scale AS deviations, hosts, runs, flagged_cases
FROM flagged
ORDER BY flagged_cases DESC, host, abs(deviation / scale) DESC, {case}
