<%@ include file="rows.jspf" %>
<h1>${Escape.htmlElementContent(outcome)}</h1>
