"""Writes rows, one of which cannot be computed: the task fails while it writes, and with it the application."""

from pyspark.sql.functions import col, udf
from session import session

spark = session("nest_count")


@udf("int")
def must_be_counted(eggs):
    if eggs is None:
        raise ValueError("nest 3 was not counted")
    return eggs


clutches = spark.read.option("header", True).csv("clutches.csv", schema="nest INT, species STRING, eggs INT")
clutches.select("nest", must_be_counted(col("eggs")).alias("eggs")).write.mode("overwrite").parquet("counted")
spark.stop()
