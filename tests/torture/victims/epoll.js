// SPDX-License-Identifier: GPL-3.0-or-later
// epoll: node under traffic of its own: numbered messages over sockets,
// timers that must not come early, promises and buffers meanwhile.
'use strict';
const net = require('net');
const os = require('os');

let wrong = 0;
let over = false;
const sockets = [];

const server = net.createServer(socket => {
	socket.on('data', data => socket.write(data));
	socket.on('error', () => { wrong++; });
});

function talk(port)
{
	const socket = net.connect(port, '127.0.0.1');
	let number = 0, got = '';

	function next()
	{
		number++;
		got = '';
		socket.write(`message ${number}\n`);
	}
	socket.on('connect', next);
	socket.on('error', () => { wrong++; });
	socket.on('data', data => {
		got += data;
		if (!got.endsWith('\n'))
			return;
		if (got !== `message ${number}\n`)
			wrong++;
		if (!over)
			next();
	});
	sockets.push(socket);
}

function nap()
{
	const since = process.hrtime.bigint();

	setTimeout(() => {
		if (process.hrtime.bigint() - since < 8900000n)
			wrong++;
		if (!over)
			nap();
	}, 10);
}

function compute()
{
	let sum = 0;

	for (let i = 0; i < 100000; i++)
		sum += i % 7;
	if (sum !== 299995)
		wrong++;
	if (!over)
		setImmediate(compute);
}

server.listen(0, '127.0.0.1', () => {
	for (let i = 0; i < 4; i++)
		talk(server.address().port);
	nap();
	compute();
	console.log('ready', process.pid);
});
process.stdin.resume();
process.stdin.on('end', () => {
	over = true;
	setTimeout(() => {
		console.log('eintr 0 wrong', wrong, 'missed 0');
		process.exit(wrong ? 1 : 0);
	}, 50);
});
