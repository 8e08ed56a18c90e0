/** Property of books that visitors search by. */
public enum SearchField {
    AUTHOR("a.name LIKE :words", "%s%%"),
    TITLE("i.title LIKE :words", "%%%s%%"),
    SUBJECT("i.subject = :words", "%s");

    final String condition;
    private final String pattern;

    SearchField(String condition, String pattern) {
        this.condition = condition;
        this.pattern = pattern;
    }

    String format(String words) {
        return String.format(pattern, words);
    }
}
