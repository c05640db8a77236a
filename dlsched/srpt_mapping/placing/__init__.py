"""Where jobs run: servers, rules that place one job, every layout of a job, and schedules from layouts in an order."""
