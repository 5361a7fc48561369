"""To come."""


class SqlLineage: ...


def lineage_from_sql(): ...
