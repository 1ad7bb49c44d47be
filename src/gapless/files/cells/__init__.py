"""What a cell of a table says: numbers, dates, yes and no, words for no value; and what a column of cells is good for."""
