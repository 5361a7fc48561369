"""What real producers sent, what really happened meanwhile, and whether the product tells that.

`make producers` runs dbt, Airflow, Spark and a Java program and renews recordings/; what_happened.toml is written by
people who watched. The tests read both and need none of the producers.
"""
