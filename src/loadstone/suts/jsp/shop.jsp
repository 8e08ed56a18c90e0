<%-- The shop: browse, customise, check out; a new visitor is redirected once with a session cookie. --%>
<%@ page session="false" trimDirectiveWhitespaces="true" pageEncoding="UTF-8" %>
<%@ include file="facts.jspf" %><%@ include file="page.jspf" %><%@ include file="backend.jspf" %><%@ include file="visitor.jspf" %>
<%!
static final int SHOP = 2;

/** A visitor's request, and what is to be shown for it. */
record Visit(HttpServletRequest request, HttpServletResponse response, HttpSession session) {
    String given(String name) {
        String value = request.getParameter(name);
        return value == null ? "" : value;
    }

    String known(String name) {
        Object value = session.getAttribute(name);
        return value == null ? "" : (String) value;
    }

    void show(String name, String title, String about, java.util.List<String[]> rows) throws java.io.IOException {
        show(name, title, about, rows, "", "");
    }

    void show(String name, String title, String about, java.util.List<String[]> rows, String kind, String product)
            throws java.io.IOException {
        Page page = Page.begin(title);
        page.put("<p>" + escape(about) + "</p>\n");
        if (!kind.isEmpty()) {
            String image = "/shop/images/" + kind + "/" + escape(product) + ".gif";
            page.put("<img class=\"product\" src=\"" + image + "\" alt=\"\">\n");
        }
        page.table(rows);
        page.finish(response, "shopping/" + name);
    }
}

static void index(HttpServletRequest request, HttpServletResponse response, HttpSession session)
        throws java.io.IOException {
    String region = given(request, "region");
    if (session == null) {
        welcome(request).setAttribute("region", region);
        String query = request.getQueryString();
        response.setStatus(307);
        response.setHeader("Location", request.getRequestURI() + (query == null ? "" : "?" + query));
        return;
    }
    session.setAttribute("region", region);
    Page page = Page.begin("Shop: welcome");
    page.put("<p>Prices in " + escape(region) + "</p>\n");
    page.finish(response, "shopping/index");
}

static void expired(HttpServletResponse response) throws java.io.IOException {
    Page page = new Page("Shop: session expired");
    page.put("<!--session-expired--><a href=\"/shop/index\">Start again</a>");
    page.finish(response, 0);
}

static void customize(Visit visit) throws java.io.IOException {
    String step = visit.given("step");
    String product = visit.given("product");
    java.util.Map<String, String> steps =
        java.util.Map.of("1", "Shop: components", "2", "Shop: warranty and service", "3", "Shop: accessories");
    if (!steps.containsKey(step)) {
        refuse(visit.response(), 400);
        return;
    }
    String about = product + ", option " + visit.given("option");
    String kind = step.equals("3") ? "extra" : "";
    visit.show("customize" + step, steps.get(step), about, ask(SHOP, 5, product, step), kind, product);
}

static void browse(Visit visit, String script) throws java.io.IOException {
    String region = visit.known("region");
    String near = visit.given("near");
    switch (script) {
        case "search" -> visit.show("search", "Shop: results for " + visit.given("keyword"),
            visit.given("segment") + " in " + region,
            ask(SHOP, 1, visit.given("segment"), visit.given("keyword"), region), "small", near);
        case "browse" -> visit.show("browse", "Shop: product lines", visit.given("type") + " customers in " + region,
            ask(SHOP, 2, visit.given("type"), region));
        case "browse_productline" -> visit.show("browse_productline", "Shop: line " + visit.given("line").split("-")[0],
            "prices in " + region, ask(SHOP, 3, visit.given("line"), near), "small", near);
        case "productdetail" -> visit.show("productdetail", "Shop: product " + visit.given("product"),
            "price in " + region, ask(SHOP, 4, visit.given("product"), region), "large", visit.given("product"));
        default -> checkOut(visit, script);
    }
}

static void checkOut(Visit visit, String script) throws java.io.IOException {
    switch (script) {
        case "cart" -> {
            visit.session().setAttribute("cart", visit.known("cart") + " " + visit.given("add"));
            visit.show("cart", "Shop: your cart", visit.given("add"),
                ask(SHOP, 6, visit.given("add"), visit.known("region")));
        }
        case "login" -> {
            visit.session().setAttribute("user", visit.given("customer"));
            visit.show("login", "Shop: log in", visit.given("customer"), ask(SHOP, 7, visit.given("customer")));
        }
        case "shipping" -> {
            String to = visit.given("name") + ", " + visit.given("street") + ", " + visit.given("city");
            visit.show("shipping", "Shop: shipping", to + ": " + visit.given("kind"), ask(SHOP, 8, visit.given("kind")));
        }
        case "billing" ->
            visit.show("billing", "Shop: billing", visit.given("card"), ask(SHOP, 9, visit.given("card")));
        case "confirm" -> {
            visit.session().removeAttribute("cart");
            visit.show("confirm", "Shop: order confirmed", visit.known("user"), ask(SHOP, 10, visit.known("user")));
        }
        default -> refuse(visit.response(), 404);
    }
}
%>
<%
String script = script(request);
HttpSession session = visitor(request);
try {
    if (script.equals("index")) {
        index(request, response, session);
    } else if (session == null) {
        expired(response);
    } else if (script.equals("customize")) {
        customize(new Visit(request, response, session));
    } else {
        browse(new Visit(request, response, session), script);
    }
} catch (BackendError error) {
    System.err.println(script + ": " + error.getMessage());
    refuse(response, 502);
}
%>
