"""What pages are made of, as data: text, tables, plots. The same blocks become HTML and Markdown. Pure."""
