"""The session of the recorded Spark jobs; where its events go is told by spark-submit's --conf."""

from pyspark.sql import SparkSession


def session(name):
    return SparkSession.builder.appName(name).getOrCreate()
