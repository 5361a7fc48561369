"""The home of Egeria: our connector inside an integration daemon, whose JVM runs in this process (JPype)."""

from .configuration import Defaults
from .connector import Connectors, Stores
from .host import Host
from .java import find_java
from .launch import plan_launch

__all__ = ["Connectors", "Defaults", "Host", "Stores", "find_java", "plan_launch"]
