import jakarta.servlet.http.Cookie;
import java.util.Optional;

/** Cookie of a visitor who is signed in: the person's number, and a code that tells it from a guess. */
final class Seat {
    static final String COOKIE = "seat";
    private static final long SECRET = 0x5eed0f0fe7e277aaL;

    private Seat() {
    }

    /** Cookie of a person, which lasts as long as the browser is open. */
    static Cookie of(long person) {
        return cookie(ticket(person), -1);
    }

    /** Cookie that removes the one that a browser has. */
    static Cookie none() {
        return cookie("", 0);
    }

    /** Returns the number of the person of a cookie's text; empty for none and for a forged one. */
    static Optional<Long> read(String shown) {
        try {
            long person = Long.parseLong(shown.substring(0, Math.max(0, shown.indexOf('-'))));
            return ticket(person).equals(shown) ? Optional.of(person) : Optional.empty();
        } catch (NumberFormatException none) {
            return Optional.empty();
        }
    }

    private static Cookie cookie(String ticket, int seconds) {
        Cookie cookie = new Cookie(COOKIE, ticket);
        cookie.setPath("/");
        cookie.setHttpOnly(true);
        cookie.setMaxAge(seconds);
        return cookie;
    }

    private static String ticket(long person) {
        return String.format("%d-%016x", person, scramble(person ^ SECRET));
    }

    /** Mixes the bits of a number (the last step of SplitMix64). */
    private static long scramble(long number) {
        number = (number ^ number >>> 30) * 0xbf58476d1ce4e5b9L;
        number = (number ^ number >>> 27) * 0x94d049bb133111ebL;
        return number ^ number >>> 31;
    }
}
