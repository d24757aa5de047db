-- When the cost of a case changed on hosts with the same processor.
--
-- Each run is divided by the median of its host, so that hosts may come and go; a day (UTC) is the median of its runs. The
-- sum of the days' distances from their mean is farthest from 0 on the last day before the change. ratio: the median of the
-- days after it divided by that of the days before; deviations: how many standard errors lie between it and 1, by the
-- days' MAD, at least 0.5% of the cost. Only the largest change of a case is found.
-- Shown from 10 days, a change of 5%, and 5.5 + 80 / days standard errors.
WITH runs AS (
  SELECT operation, params, environment, language, coalesce(cpu, '') AS cpu, host, floor(started_unix_s / 8.64e4) AS day, median_ns AS ns
  FROM costs
  WHERE kind = 'cost' AND median_ns > 0 AND host IS NOT NULL AND started_unix_s IS NOT NULL
),
ranked_runs AS (
  SELECT *,
    row_number() OVER (PARTITION BY operation, params, environment, language, cpu, host ORDER BY ns) AS place,
    count(*) OVER (PARTITION BY operation, params, environment, language, cpu, host) AS runs
  FROM runs
),
relative AS (
  SELECT *, ns / avg(CASE WHEN 2 * place BETWEEN runs AND runs + 2 THEN ns END) OVER (PARTITION BY operation, params, environment, language, cpu, host) AS level
  FROM ranked_runs
),
ranked_levels AS (
  SELECT operation, params, environment, language, cpu, day, level,
    row_number() OVER (PARTITION BY operation, params, environment, language, cpu, day ORDER BY level) AS place,
    count(*) OVER (PARTITION BY operation, params, environment, language, cpu, day) AS runs
  FROM relative
),
days AS (
  SELECT operation, params, environment, language, cpu, day, avg(level) AS day_level
  FROM ranked_levels
  WHERE 2 * place BETWEEN runs AND runs + 2
  GROUP BY operation, params, environment, language, cpu, day
),
averaged AS (
  SELECT *, avg(day_level) OVER (PARTITION BY operation, params, environment, language, cpu) AS usual,
    count(*) OVER (PARTITION BY operation, params, environment, language, cpu) AS days,
    row_number() OVER (PARTITION BY operation, params, environment, language, cpu ORDER BY day) AS number
  FROM days
),
summed AS (
  SELECT *, sum(day_level - usual) OVER (PARTITION BY operation, params, environment, language, cpu ORDER BY day ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS total
  FROM averaged
),
placed AS (
  SELECT *, row_number() OVER (PARTITION BY operation, params, environment, language, cpu
      ORDER BY CASE WHEN number BETWEEN 3 AND days - 3 THEN 0 ELSE 1 END, abs(total) DESC, day) AS distance
  FROM summed
),
divided AS (
  SELECT *, max(CASE WHEN distance = 1 THEN day END) OVER (PARTITION BY operation, params, environment, language, cpu) AS last_before
  FROM placed
),
sided AS (
  SELECT operation, params, environment, language, cpu, day, day_level, days, CASE WHEN day > last_before THEN 1 ELSE 0 END AS side
  FROM divided
),
ranked_sides AS (
  SELECT *,
    row_number() OVER (PARTITION BY operation, params, environment, language, cpu, side ORDER BY day_level) AS place,
    count(*) OVER (PARTITION BY operation, params, environment, language, cpu, side) AS side_days
  FROM sided
),
centred AS (
  SELECT *, avg(CASE WHEN 2 * place BETWEEN side_days AND side_days + 2 THEN day_level END)
    OVER (PARTITION BY operation, params, environment, language, cpu, side) AS side_level
  FROM ranked_sides
),
deviating AS (
  SELECT *, abs(day_level / side_level - 1) AS deviation,
    row_number() OVER (PARTITION BY operation, params, environment, language, cpu ORDER BY abs(day_level / side_level - 1)) AS distance
  FROM centred
),
changes AS (
  SELECT operation, params, environment, language, cpu,
    max(CASE WHEN side = 1 THEN side_level END) / max(CASE WHEN side = 0 THEN side_level END) AS ratio,
    min(CASE WHEN side = 1 THEN day END) * 8.64e4 AS since_unix_s,
    days,
    greatest(1.4826e0 * avg(CASE WHEN 2 * distance BETWEEN days AND days + 2 THEN deviation END), 5e-3) * 1.2533e0
      * sqrt(1e0 / sum(side) + 1e0 / (days - sum(side))) AS error
  FROM deviating
  WHERE days >= 10
  GROUP BY operation, params, environment, language, cpu, days
)
SELECT operation, params, environment, language, cpu, since_unix_s, ratio, (ratio - 1) / error AS deviations, days
FROM changes
WHERE abs(ratio - 1) >= 5e-2 AND abs(ratio - 1) >= error * (5.5e0 + 8e1 / days)
ORDER BY abs(ratio - 1) DESC, operation, params, environment, language, cpu
