import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/** The pages of the site of events; they are those of the reference server. */
public final class Events extends Site {
    private Pictures pictures;
    private Geocoder geocoder;
    private Cache cache;

    @Override
    public void init() {
        super.init();
        pictures = new Pictures(System.getProperty("loadstone.store"), System.getProperty("loadstone.pictures"));
        geocoder = new Geocoder(System.getProperty("loadstone.geocoder"));
        try {
            cache = Cache.at(System.getProperty("loadstone.cache"));
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    @Override
    public void destroy() {
        cache.close();
        super.destroy();
    }

    @Override
    protected void doGet(HttpServletRequest request, HttpServletResponse response) throws IOException {
        answer(request, response, () -> {
            if (request.getRequestURI().startsWith(Pictures.PATH)) {
                pictures.send(request.getRequestURI(), response);
                return;
            }
            switch (place(request)) {
                case "home" -> home(response, seat(request));
                case "logout" -> logOut(response);
                case "tag" -> tag(response, text(request, "name"));
                case "event" -> event(response, needed(request, "id"));
                case "comments" -> comments(response, needed(request, "id"));
                case "attendees" -> attendees(response, needed(request, "id"), Optional.empty());
                case "person" -> person(response, needed(request, "id"));
                case "add-person" -> small(response, "Events: new person", "Who are you?");
                case "add-event" -> small(response, "Events: new event", "What is on?");
                case "audit" -> json(response, database.read(EventsAudit::audit));
                default -> throw new Refused(404);
            }
        });
    }

    @Override
    protected void doPost(HttpServletRequest request, HttpServletResponse response) throws IOException {
        answer(request, response, () -> {
            switch (place(request)) {
                case "login" -> logIn(response, text(request, "user"), text(request, "password"));
                case "search" -> goTo(response, "/events/tag?name=" + URLEncoder.encode(text(request, "tag"), StandardCharsets.UTF_8));
                case "attend" -> attend(response, needed(request, "id"), seat(request));
                case "add-person" -> addPerson(request, response);
                case "add-event" -> addEvent(request, response, seat(request));
                case "renew" -> {
                    cache.empty();
                    small(response, "Events: renewed", "Nothing is kept");
                }
                default -> throw new Refused(404);
            }
        });
    }

    private void home(HttpServletResponse response, Optional<Long> seat) throws SQLException, IOException {
        String told = cache.get(Cache.HOME);
        if (told == null) {
            told = database.read(Events::homeTold);
            cache.put(Cache.HOME, told);
        }
        int between = told.indexOf(Cache.BETWEEN);
        Page page = new Page("Events: home");
        Optional<String> name = seat.isPresent() ? database.read(c -> Look.name(c, seat.get())) : Optional.empty();
        page.put(name.map(known -> "<p>Signed in as " + Page.escape(known) + "</p>\n").orElse(
            "<form action=\"/events/login\" method=\"post\">Your name and password: <input name=\"user\"> "
                + "<input name=\"password\" type=\"password\"></form>\n"));
        page.put(told.substring(0, between));
        page.put("<h2>You are going to</h2>\n");
        for (Object[] row : seat.isPresent() ? database.read(c -> Look.own(c, seat.get())) : List.<Object[]>of()) {
            page.put("<a href=\"/events/event?id=" + row[0] + "\">" + Page.escape((String) row[1]) + "</a>\n");
        }
        page.put(told.substring(between + 1));
        page.finish(response, Facts.of("home"));
    }

    /** What the home page tells everybody, in two parts. */
    private static String homeTold(Connection c) throws SQLException {
        StringBuilder told = new StringBuilder();
        List<Object[]> events = Look.comingUp(c);
        told.append("<h1>Coming up: ").append(Look.countComingUp(c)).append(" events</h1>\n").append(listed(events)).append(Cache.BETWEEN);
        for (Object[] row : Look.cloud(c)) {
            told.append("<a href=\"/events/tag?name=" + row[0] + "\">" + row[0] + "</a> (" + row[1] + ")\n");
        }
        return told.toString();
    }

    private void logIn(HttpServletResponse response, String name, String password) throws SQLException, IOException, Refused {
        long person = database.read(c -> Look.logIn(c, name, password)).orElseThrow(() -> new Refused(403));
        response.addCookie(Seat.of(person));
        small(response, "Events: welcome", "Welcome, " + Page.escape(name));
    }

    private void logOut(HttpServletResponse response) throws IOException {
        response.addCookie(Seat.none());
        small(response, "Events: good-bye", "Signed out");
    }

    private void tag(HttpServletResponse response, String name) throws SQLException, IOException, Refused {
        Optional<String> keptAs = Cache.nameOfTag(name);
        String told = keptAs.map(cache::get).orElse(null);
        if (told == null) {
            told = database.read(c -> tagTold(c, name)).orElseThrow(() -> new Refused(404));
            if (keptAs.isPresent()) {
                cache.put(keptAs.get(), told);
            }
        }
        Page page = new Page("Events: tag");
        page.put(told);
        page.finish(response, Facts.of("tag_search"));
    }

    /** What the page of a tag tells; nothing where there is no such tag. */
    private static Optional<String> tagTold(Connection c, String name) throws SQLException {
        Optional<Object[]> tag = Look.tag(c, name);
        if (tag.isEmpty()) {
            return Optional.empty();
        }
        String heading = "<h1>Tagged " + Page.escape(name) + ": " + tag.get()[1] + " events</h1>\n";
        return Optional.of(heading + listed(Look.tagged(c, (Long) tag.get()[0])));
    }

    private void event(HttpServletResponse response, long id) throws SQLException, IOException, Refused {
        Page page = new Page("Events: event");
        show(response, page, "event_detail", c -> {
            Optional<Object[]> found = Look.event(c, id);
            if (found.isEmpty()) {
                return false;
            }
            Object[] row = found.get();
            page.put("<h1>Event " + id + ": " + Page.escape((String) row[0]) + "</h1>\n");
            page.put("<img class=\"of\" src=\"" + Pictures.path("events", id) + "\" alt=\"\">\n");
            page.put("<p>By <a href=\"/events/person?id=" + row[5] + "\">" + Page.escape((String) row[6]) + "</a></p>\n");
            page.put("<a href=\"" + Pictures.path("papers", id) + "\">More about it</a>\n");
            paragraphs(page, Arrays.copyOfRange(row, 1, 5));
            paragraphs(page, Arrays.copyOfRange(row, 7, row.length));
            for (Object[] tag : Look.tags(c, id)) {
                page.put("<a href=\"/events/tag?name=" + tag[0] + "\">" + tag[0] + "</a>\n");
            }
            return true;
        });
    }

    /** Sends a page of what the database has; there is no such page where it has nothing. */
    private void show(HttpServletResponse response, Page page, String operation, Database.Work<Boolean> isThere)
            throws SQLException, IOException, Refused {
        if (!database.read(isThere)) {
            throw new Refused(404);
        }
        page.finish(response, Facts.of(operation));
    }

    private void comments(HttpServletResponse response, long event) throws SQLException, IOException {
        json(response, EventsJson.comments(event, database.read(c -> Look.comments(c, event))));
    }

    private void attendees(HttpServletResponse response, long event, Optional<String> you) throws SQLException, IOException {
        List<Object[]> rows = database.read(c -> Look.attendees(c, event));
        json(response, EventsJson.attendees(event, rows.stream().map(row -> (String) row[0]).toList(), you));
    }

    private void attend(HttpServletResponse response, long event, Optional<Long> seat) throws SQLException, IOException, Refused {
        long person = seat.orElseThrow(() -> new Refused(403));
        if (!database.write(c -> TakePart.attend(c, database.dialect, event, person))) {
            throw new Refused(404);
        }
        attendees(response, event, database.read(c -> Look.name(c, person)));
    }

    private void person(HttpServletResponse response, long id) throws SQLException, IOException, Refused {
        Page page = new Page("Events: person");
        show(response, page, "person_detail", c -> {
            Optional<Object[]> found = Look.person(c, id);
            if (found.isEmpty()) {
                return false;
            }
            Object[] row = found.get();
            page.put("<h1>" + Page.escape((String) row[0]) + " of " + Page.escape((String) row[5]) + "</h1>\n");
            page.put("<img class=\"of\" src=\"" + Pictures.path("people-small", id) + "\" alt=\"\">\n");
            for (Object[] friend : Look.friends(c, id)) {
                page.put("<a href=\"/events/person?id=" + friend[0] + "\"><img class=\"of\" src=\""
                    + Pictures.path("people-small", (Long) friend[0]) + "\" alt=\"" + Page.escape((String) friend[1]) + "\"></a>\n");
            }
            for (Object[] event : Look.submitted(c, id)) {
                page.put("<p>" + event[0] + ": " + Page.escape((String) event[1]) + "</p>\n");
            }
            page.put("<p>" + Look.waiting(c, id) + " invitations wait.</p>\n");
            paragraphs(page, Arrays.copyOfRange(row, 1, row.length));
            return true;
        });
    }

    private void addPerson(HttpServletRequest request, HttpServletResponse response) throws Exception {
        String name = text(request, "name");
        if (name.isEmpty() || text(request, "password").isEmpty()) {
            throw new Refused(400);
        }
        long id = Additions.newId();
        pictures.keep(sent(request, "picture"), "people", "people-small", id);
        TakePart.Address address = address(request);
        database.write(c -> {
            TakePart.addPerson(c, id, List.of(name, text(request, "password"), text(request, "email"), text(request, "phone"),
                text(request, "summary")), address);
            return null;
        });
        goTo(response, "/events/person?id=" + id);
    }

    private void addEvent(HttpServletRequest request, HttpServletResponse response, Optional<Long> seat) throws Exception {
        long submitter = seat.orElseThrow(() -> new Refused(403));
        String title = text(request, "title");
        if (title.isEmpty()) {
            throw new Refused(400);
        }
        long id = Additions.newId();
        pictures.keep(sent(request, "picture"), "events", "events-small", id);
        pictures.put("papers", id, sent(request, "literature"));
        TakePart.Address address = address(request);
        List<String> tags = List.of(text(request, "tags").split("\\s+"));
        long held = Additions.chooseDate(id);
        database.write(c -> {
            TakePart.addEvent(c, id, List.of(title, text(request, "summary"), text(request, "description"), text(request, "phone")),
                new long[] {submitter, held, Additions.NOW}, tags, address);
            return null;
        });
        cache.forget(Cache.namesOfEvent(tags));
        goTo(response, "/events/event?id=" + id);
    }

    private static byte[] sent(HttpServletRequest request, String field) throws IOException, ServletException, Refused {
        var part = request.getPart(field);
        if (part == null) {
            throw new Refused(400);
        }
        return part.getInputStream().readAllBytes();
    }

    private TakePart.Address address(HttpServletRequest request) throws IOException, InterruptedException {
        List<String> texts = new ArrayList<>();
        for (String name : List.of("street", "city", "state", "zip", "country")) {
            texts.add(text(request, name));
        }
        return new TakePart.Address(texts, geocoder.find(texts.get(0), texts.get(1), texts.get(3)));
    }

    /** Events as the pages list them. */
    private static String listed(List<Object[]> events) {
        StringBuilder told = new StringBuilder();
        for (Object[] row : events) {
            told.append("<a href=\"/events/event?id=" + row[0] + "\">" + Page.escape((String) row[1]) + "</a> <img class=\"of\" src=\""
                + Pictures.path("events-small", (Long) row[0]) + "\" alt=\"\"> " + row[2] + "<br>\n");
        }
        return told.toString();
    }

    private static void paragraphs(Page page, Object[] values) {
        for (Object value : values) {
            page.put("<p>" + Page.escape(String.valueOf(value)) + "</p>\n");
        }
    }

    private static void small(HttpServletResponse response, String title, String told) throws IOException {
        Page page = new Page(title);
        page.put("<h1>" + told + "</h1>\n");
        page.finish(response, new Facts(0, List.of()));
    }

    private static void goTo(HttpServletResponse response, String place) {
        response.setStatus(303);
        response.setHeader("Location", place);
        response.setContentLength(0);
    }

    private static Optional<Long> seat(HttpServletRequest request) {
        return Seat.read(cookie(request, Seat.COOKIE));
    }
}
