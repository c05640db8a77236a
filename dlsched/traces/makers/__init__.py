"""From a queue to an instance, a module for each family that can be made of one."""
