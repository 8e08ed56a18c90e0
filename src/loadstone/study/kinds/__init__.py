"""The kinds of question a study may put, all pure: the same runs lead to the same next one and the same answer."""
