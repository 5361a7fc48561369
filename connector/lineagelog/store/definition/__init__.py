"""What the store is: tables, statements, views, migrations, partitions."""
