"""Result files: read, and held against what can be known without believing them."""
