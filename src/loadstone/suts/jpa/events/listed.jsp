<%@ include file="rows.jspf" %>
<h1>${Escape.htmlElementContent(heading)}</h1>
<% for (Object row : list(request, "events")) { pageContext.setAttribute("row", row); %>
<a href="/events/event?id=${row.id}">${Escape.htmlElementContent(row.title)}</a> <img class="of" src="/events/store/events-small/${row.id}" alt=""> ${row.held}<br>
<% } %>
