// Keeps what it makes, or does not: node kept.js kept|dropped|files SECONDS.
const fs = require('fs');
const [how, seconds] = [process.argv[2], parseFloat(process.argv[3])];
const all = [];
let i = 0;
const timer = setInterval(() => {
    const data = new Array(5000).fill(i);
    if (how === 'kept') all.push(data);
    if (how === 'files' && i % 5 === 0) fs.openSync('/dev/null', 'r');
    if (++i === 400) clearInterval(timer);
}, seconds * 1000 / 400);
