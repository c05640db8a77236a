"""What contains a process, so that whatever ends either side nothing of it is left; and what is heard and measured of one."""
