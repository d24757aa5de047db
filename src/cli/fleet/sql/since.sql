-- Since when a case costs something else, by processor.
--
-- Each run is divided by the median of its host, so that hosts may come and go; a day (UTC) is the median of its runs. The
-- cumulative sum of the days' distances from their mean is farthest from zero on the last day before the change. ratio is
-- the median of the days after it to that of the days before; deviations is how many standard errors away from 1 that is.
-- The largest change of each case is found, not several.
-- Shown: 5 % or more, and 6 standard errors or more with many days; more with few.
WITH runs AS (
  SELECT {case_of_rows}, {group_of_rows}, host, floor(started_unix_s / 8.64e4) AS day, median_ns AS ns
  FROM {rows}
  WHERE status = 'ok' AND median_ns > 0 AND started_unix_s IS NOT NULL
),
ranked_runs AS (
  SELECT *,
    row_number() OVER (PARTITION BY {case}, {group}, host ORDER BY ns) AS place,
    count(*) OVER (PARTITION BY {case}, {group}, host) AS runs
  FROM runs
),
relative AS (
  SELECT *, ns / avg(CASE WHEN 2 * place BETWEEN runs AND runs + 2 THEN ns END) OVER (PARTITION BY {case}, {group}, host) AS level
  FROM ranked_runs
),
ranked_levels AS (
  SELECT {case}, {group}, day, level,
    row_number() OVER (PARTITION BY {case}, {group}, day ORDER BY level) AS place,
    count(*) OVER (PARTITION BY {case}, {group}, day) AS runs
  FROM relative
),
days AS (
  SELECT {case}, {group}, day, avg(level) AS day_level
  FROM ranked_levels
  WHERE 2 * place BETWEEN runs AND runs + 2
  GROUP BY {case}, {group}, day
),
averaged AS (
  SELECT *, avg(day_level) OVER (PARTITION BY {case}, {group}) AS usual,
    count(*) OVER (PARTITION BY {case}, {group}) AS days,
    row_number() OVER (PARTITION BY {case}, {group} ORDER BY day) AS number
  FROM days
),
summed AS (
  SELECT *, sum(day_level - usual) OVER (PARTITION BY {case}, {group} ORDER BY day ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS total
  FROM averaged
),
placed AS (
  SELECT *, row_number() OVER (PARTITION BY {case}, {group}
      ORDER BY CASE WHEN number BETWEEN 3 AND days - 3 THEN 0 ELSE 1 END, abs(total) DESC, day) AS distance
  FROM summed
),
divided AS (
  SELECT *, max(CASE WHEN distance = 1 THEN day END) OVER (PARTITION BY {case}, {group}) AS last_before
  FROM placed
),
sided AS (
  SELECT {case}, {group}, day, day_level, days, CASE WHEN day > last_before THEN 1 ELSE 0 END AS side
  FROM divided
),
ranked_sides AS (
  SELECT *,
    row_number() OVER (PARTITION BY {case}, {group}, side ORDER BY day_level) AS place,
    count(*) OVER (PARTITION BY {case}, {group}, side) AS side_days
  FROM sided
),
centred AS (
  SELECT *, avg(CASE WHEN 2 * place BETWEEN side_days AND side_days + 2 THEN day_level END)
    OVER (PARTITION BY {case}, {group}, side) AS side_level
  FROM ranked_sides
),
deviating AS (
  SELECT *, abs(day_level / side_level - 1) AS deviation,
    row_number() OVER (PARTITION BY {case}, {group} ORDER BY abs(day_level / side_level - 1)) AS distance
  FROM centred
),
changes AS (
  SELECT {case}, {group},
    max(CASE WHEN side = 1 THEN side_level END) / max(CASE WHEN side = 0 THEN side_level END) AS ratio,
    min(CASE WHEN side = 1 THEN day END) * 8.64e4 AS since_unix_s,
    days,
    greatest(1.4826e0 * avg(CASE WHEN 2 * distance BETWEEN days AND days + 2 THEN deviation END), 5e-3) * 1.2533e0
      * sqrt(1e0 / sum(side) + 1e0 / (days - sum(side))) AS error
  FROM deviating
  WHERE days >= 8
  GROUP BY {case}, {group}, days
)
SELECT {case}, {group}, since_unix_s, ratio, (ratio - 1) / error AS deviations, days
FROM changes
WHERE abs(ratio - 1) >= 5e-2 AND abs(ratio - 1) >= error * (6e0 + 6e1 / days)
ORDER BY abs(ratio - 1) DESC, {case}, {group}
