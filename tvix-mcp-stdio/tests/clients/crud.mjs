// The official TypeScript SDK creates, finds, updates and deletes through the server, in every era.
//
//     node crud.mjs 'path/to/tvix-mcp-stdio --data FOLDER'
//
// Takes @modelcontextprotocol/client 2.4 from $NODE_HOME/node_modules (default: the working directory).
// Prints a line a check and `N passed, M failed`.
import { createRequire } from 'node:module';

const require = createRequire(`${process.env.NODE_HOME ?? process.cwd()}/package.json`);
const { Client } = require('@modelcontextprotocol/client');
const { StdioClientTransport } = require('@modelcontextprotocol/client/stdio');
const [command, ...args] = process.argv[2].split(' ');
let passed = 0, failed = 0;

function check(name, holds, detail) {
  holds ? passed++ : failed++;
  console.log(holds ? `ok   ${name}` : `FAIL ${name}: ${JSON.stringify(detail)}`);
}

async function life(label, mode) {
  const client = new Client({ name: 'crud', version: '1' }, { versionNegotiation: { mode } });
  await client.connect(new StdioClientTransport({ command, args }));
  const call = async (name, given) => {
    const answer = await client.callTool({ name, arguments: given });
    check(`${label} ${name}`, !answer.isError, answer);
    return answer.structuredContent ?? {};
  };
  const { id } = await call('add_memory', { content: `The ${label} client likes its tea green` });
  const memories = await call('search_memory', { query: `${label} green tea`, limit: 1 });
  check(`${label} finds the memory`, memories.results[0]?.episode.id === id, memories);
  const { doc_id } = await call('add_wiki', { title: `Teas of ${label}`, content: 'Sencha.' });
  await call('update_wiki', { doc_id, content: 'Sencha, gyokuro.', project: 'Teas' });
  const documents = await call('search_wiki', { query: 'gyokuro', project: 'teas' });
  check(`${label} finds the edit`, documents.results.length === 1 && documents.results[0].doc_id === doc_id, documents);
  await call('delete_wiki', { doc_id });
  const gone = await call('search_wiki', { query: doc_id });
  check(`${label} no longer finds it`, gone.results.length === 0, gone);
  await client.close();
}

for (const mode of ['legacy', 'auto', { pin: '2026-07-28' }]) {
  const label = mode.pin ?? mode;
  try { await life(label, mode); } catch (error) { check(`${label} session`, false, String(error)); }
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
