-- Which nodes of the table `nodes` (one column, `node`) have no complete run, and whose run cannot stand beside the others.
--
-- A node is known by the label `node`, else by its host's name; its newest run counts. To leave out earlier launches, add
-- AND started_unix_s >= SECONDS to the first WHERE. state: missing, incomplete, other version (of the program or of the
-- compiler of its probe) or other cases than most nodes have, failed cases, disturbed (run_warnings names what was
-- recorded, or a quarter of the cases lost CPU time), or ok.
WITH runs AS (
  SELECT coalesce(label_node, host) AS node, file, started_unix_s, complete, tool, compiler, run_warnings, count(*) AS cases,
    sum(CASE WHEN error IS NULL THEN 0 ELSE 1 END) AS failed,
    avg(CASE WHEN warnings LIKE '%preempted%' OR warnings LIKE '%waited_for_cpu%' OR warnings LIKE '%lost_cpu%' THEN 1e0 ELSE 0e0 END) AS lost
  FROM costs
  WHERE kind = 'cost'
  GROUP BY coalesce(label_node, host), file, started_unix_s, complete, tool, compiler, run_warnings
),
newest AS (
  SELECT *, row_number() OVER (PARTITION BY node ORDER BY started_unix_s DESC, file DESC) AS place
  FROM runs
),
counted AS (
  SELECT *, count(*) OVER (PARTITION BY tool, compiler) AS same_version, count(*) OVER (PARTITION BY cases) AS same_cases
  FROM newest
  WHERE place = 1
),
compared AS (
  SELECT *, max(same_version) OVER () AS most_versions, max(same_cases) OVER () AS most_cases
  FROM counted
),
states AS (
  SELECT node, 'missing' AS state, '' AS file, '' AS tool, '' AS run_warnings, 0 AS cases, 0 AS failed
  FROM nodes
  WHERE node NOT IN (SELECT node FROM compared)
  UNION ALL
  SELECT node,
    CASE
      WHEN NOT complete THEN 'incomplete'
      WHEN same_version < most_versions THEN 'other version'
      WHEN same_cases < most_cases THEN 'other cases'
      WHEN failed > 0 THEN 'failed cases'
      WHEN run_warnings NOT IN ('', 'many_derived') OR lost >= 2.5e-1 THEN 'disturbed'
      ELSE 'ok'
    END AS state,
    file, tool, run_warnings, cases, failed
  FROM compared
)
SELECT *
FROM states
ORDER BY state, node
