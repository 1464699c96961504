// Handles each event of a watch with some kind of work, and says from when to when it was busy.

const childProcess = require("node:child_process");
const crypto = require("node:crypto");
const fs = require("node:fs/promises");
const http = require("node:http");
const os = require("node:os");
const path = require("node:path");
const readline = require("node:readline");

const SERVER = { host: "127.0.0.1", port: 18080 };

function get(uri) {
  return new Promise((done, failed) => {
    http.get({ ...SERVER, path: uri, agent: false }, done).on("error", failed);
  });
}

async function work(line) {
  switch (Number(line) % 5) {
    case 0: {
      let value = Buffer.from(line);
      for (let i = 0; i < 2000; i++) value = crypto.createHash("sha256").update(value).digest();
      break;
    }
    case 1:
      // On the threads of its pool.
      await Promise.all([1, 2, 3].map((salt) =>
        new Promise((done, failed) => {
          crypto.pbkdf2(line, String(salt), 200, 32, "sha256", (error) => (error ? failed(error) : done()));
        })));
      break;
    case 2: {
      const folder = await fs.mkdtemp(path.join(os.tmpdir(), "watcher-"));
      const file = await fs.open(path.join(folder, "line"), "w");
      await file.write(line);
      await file.sync();
      await file.close();
      await fs.rm(folder, { recursive: true });
      break;
    }
    case 3:
      await new Promise((done, failed) => {
        childProcess.spawn("true").on("error", failed).on("close", done);
      });
      break;
    default:
      for await (const _ of await get("/echo/" + line));
  }
}

async function main() {
  let before = Promise.resolve();
  for await (const line of readline.createInterface({ input: await get("/watch") })) {
    before = before.then(async () => {
      const begin = process.hrtime.bigint();
      await work(line);
      console.log(`${line} ${begin} ${process.hrtime.bigint()}`);
    });
  }
}

main();
