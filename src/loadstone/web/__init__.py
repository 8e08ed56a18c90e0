"""The read-only web page over the results, and the live view of what runs now. Reads the store, changes nothing."""
