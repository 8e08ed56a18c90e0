<%@ include file="rows.jspf" %>
<h1>${Escape.htmlElementContent(outcome)}</h1>
<table>
<% for (Object row : list(request, "rows")) { pageContext.setAttribute("row", row); %>
<tr><td>${Escape.htmlElementContent(row.item.title)}</td><td>${row.quantity}</td><td>${row.price}</td></tr>
<% } %>
</table>
