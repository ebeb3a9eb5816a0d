// SPDX-License-Identifier: GPL-3.0-or-later
// http: node as a server of http, its page made anew for each request;
// clients that know each byte of it: victims/client.c.
'use strict';
const http = require('http');

function page()
{
	const bytes = Buffer.allocUnsafe(20000);

	for (let i = 0; i < bytes.length; i++)
		bytes[i] = 97 + (i * 7 + Math.floor(i / 26)) % 26;
	return bytes;
}

const server = http.createServer((request, response) => {
	const body = page();

	response.writeHead(200, { 'Content-Length': body.length });
	response.end(body);
});

server.on('clientError', error => { console.log(String(error)); });
server.listen(0, '127.0.0.1', () => {
	console.log('port', server.address().port);
});
