import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;

/** An HTML page of a declared length: a marker stands at each multiple of 4,096 bytes, no piece of text lies across one. */
final class Page {
    private static final int BLOCK = 4096;
    private static final int MARKER = 15;
    private static final String FOOTER = "</div></body></html>";
    private static final String WORDS = "nothing more is said about this here, and what follows says no more than that\n";

    private final StringBuilder text = new StringBuilder();

    Page(String title) {
        put("<!doctype html><html><head><title>" + escape(title) + "</title></head><body>\n");
    }

    /** Adds markup. */
    void put(String markup) {
        int room = BLOCK - text.length() % BLOCK;
        if (markup.length() > room && markup.length() <= BLOCK - MARKER) {
            text.append(" ".repeat(room));
        }
        for (int at = 0; at < markup.length();) {
            if (text.length() > 0 && text.length() % BLOCK == 0) {
                text.append(marker(text.length() / BLOCK));
            }
            int taken = Math.min(BLOCK - text.length() % BLOCK, markup.length() - at);
            text.append(markup, at, at + taken);
            at += taken;
        }
    }

    void table(List<Object[]> rows) {
        put("<table>\n");
        for (Object[] row : rows) {
            StringBuilder cells = new StringBuilder();
            for (Object cell : row) {
                cells.append("<td>").append(escape(String.valueOf(cell))).append("</td>");
            }
            put("<tr>" + cells + "</tr>\n");
        }
        put("</table>\n");
    }

    /** Adds the files that the page embeds, fills it up to its length, and sends it. */
    void finish(HttpServletResponse response, Facts facts) throws IOException {
        for (String link : facts.links()) {
            put("<img src=\"" + link + "\" alt=\"\">\n");
        }
        put("<div>\n");
        int start = text.length();
        int end = Math.max(facts.bytes(), start + FOOTER.length() + MARKER);
        int footer = footerPlace(end);
        while (text.length() < footer) {
            text.append(WORDS);
        }
        text.setLength(footer);
        text.append(FOOTER).append("\n".repeat(end - footer - FOOTER.length()));
        for (int block = Math.max(1, (start + BLOCK - 1) / BLOCK); block * BLOCK < end; block++) {
            int at = block * BLOCK;
            int taken = Math.min(MARKER, end - at);
            text.replace(at, at + taken, marker(block).substring(0, taken));
        }
        byte[] bytes = text.toString().getBytes(StandardCharsets.ISO_8859_1);
        response.setContentType("text/html; charset=utf-8");
        response.setContentLength(bytes.length);
        response.getOutputStream().write(bytes);
    }

    /** The marker of a block, counted from 1; block 0 has none. */
    private static String marker(int block) {
        return String.format("<!--%08d-->", block % 100000000);
    }

    /** Where the footer begins so that it ends the page, or the last block where a marker would cut it. */
    private static int footerPlace(int end) {
        int last = (end - 1) / BLOCK * BLOCK;
        return last > 0 && last + MARKER > end - FOOTER.length() ? last - FOOTER.length() : end - FOOTER.length();
    }

    static String escape(String text) {
        return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("\"", "&quot;");
    }
}
