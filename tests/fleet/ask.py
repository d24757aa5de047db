#!/usr/bin/env python3
"""Asks ENGINE the questions of contrib/fleet about FOLDER/rows.json and the nodes of FOLDER/nodes.csv; prints the answers as JSON.

Ends with status 77 if the engine's Python module is not installed. For tests/files/fleet.rs."""
import json
import sys
from pathlib import Path

SQL = Path(__file__).resolve().parent.parent.parent / "contrib/fleet"


def duckdb(folder):
    import duckdb

    duckdb.sql(f"CREATE VIEW costs AS FROM read_json('{folder}/rows.json', format = 'newline_delimited')")
    duckdb.sql(f"CREATE VIEW nodes AS FROM read_csv('{folder}/nodes.csv')")
    return lambda sql: duckdb.sql(sql).fetchall()


def clickhouse(folder):
    from chdb import session

    own = session.Session()
    own.query("CREATE DATABASE fleet")
    own.query("USE fleet")
    own.query(f"CREATE VIEW costs AS SELECT * FROM file('{folder}/rows.json', 'JSONEachRow')")
    own.query(f"CREATE VIEW nodes AS SELECT * FROM file('{folder}/nodes.csv', 'CSVWithNames')")
    return lambda sql: json.loads(str(own.query(sql, "JSONCompact")))["data"]


def datafusion(folder):
    import datafusion

    context = datafusion.SessionContext()
    context.register_json("costs", f"{folder}/rows.json")
    context.register_csv("nodes", f"{folder}/nodes.csv")
    return lambda sql: [list(row.values()) for batch in context.sql(sql).collect() for row in batch.to_pylist()]


def spark(folder):
    from pyspark.sql import SparkSession

    own = SparkSession.builder.master("local[2]").config("spark.sql.shuffle.partitions", "4").getOrCreate()
    own.read.json(f"{folder}/rows.json").createOrReplaceTempView("costs")
    own.read.csv(f"{folder}/nodes.csv", header=True).createOrReplaceTempView("nodes")
    return lambda sql: [list(row) for row in own.sql(sql).collect()]


def main():
    engine, folder = sys.argv[1:]
    try:
        ask = {"duckdb": duckdb, "clickhouse": clickhouse, "datafusion": datafusion, "spark": spark}[engine](folder)
    except ModuleNotFoundError as missing:
        print(missing, file=sys.stderr)
        sys.exit(77)
    answers = {file.stem: [list(row) for row in ask(file.read_text())] for file in sorted(SQL.glob("*.sql"))}
    # Some engines count in doubles or strings.
    number = lambda value: value if isinstance(value, str) and not value.isdigit() else float(value)
    json.dump({question: [[number(value) for value in row] for row in rows] for question, rows in answers.items()}, sys.stdout)


if __name__ == "__main__":
    main()
