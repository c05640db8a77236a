"""What a study says: a line a method in each group of instances, tables of them, and the answer in a sentence."""
