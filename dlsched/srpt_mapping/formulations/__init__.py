"""The formulations of srpt_mapping, one file each."""
