"""Writes, and then the driver fails: what it wrote is there, its application is not done."""

from session import session

spark = session("nest_export")
clutches = spark.read.option("header", True).csv("clutches.csv", schema="nest INT, species STRING, eggs INT")
clutches.where("eggs > 3").write.mode("overwrite").parquet("big_clutches")
raise RuntimeError("the ornithologist does not answer")
