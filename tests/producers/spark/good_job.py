"""Reads a file, writes a table of the catalogue and a folder of Parquet: all of it succeeds."""

from session import session

spark = session("nest_report")
clutches = spark.read.option("header", True).csv("clutches.csv", schema="nest INT, species STRING, eggs INT")
clutches.write.mode("overwrite").saveAsTable("clutches")
per_species = spark.table("clutches").where("eggs is not null").groupBy("species").sum("eggs")
per_species.withColumnRenamed("sum(eggs)", "eggs").write.mode("overwrite").parquet("eggs_per_species")
spark.stop()
