-- Tells a client its request and the environment in 2 KiB, in the server's process (mod_lua).

local LENGTH = 2048

function handle(request)
    request.content_type = "text/plain"
    local lines = {
        "REQUEST_METHOD=" .. request.method,
        "REQUEST_URI=" .. request.unparsed_uri,
        "SERVER_PROTOCOL=" .. request.protocol,
    }
    for name, value in pairs(request.headers_in_table and request:headers_in_table() or {}) do
        table.insert(lines, "HTTP_" .. name:upper() .. "=" .. value)
    end
    local text = table.concat(lines, "\n") .. "\n"
    request:puts(text .. string.rep("-", LENGTH - #text - 20) .. "\nend of environment\n")
    return apache2.OK
end
