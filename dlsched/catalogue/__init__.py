"""What a user can name, each thing declared once in a light record; the code that it stands for is imported when it is used."""
