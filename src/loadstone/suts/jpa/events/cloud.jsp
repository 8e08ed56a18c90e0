<%@ include file="rows.jspf" %>
<% for (Object row : list(request, "tags")) { pageContext.setAttribute("row", row); %>
<a href="/events/tag?name=${row.name}">${row.name}</a> (${row.uses})
<% } %>
