// What the bench compares with: a webhook server as the sync engine's own documentation builds one. It takes
// everything from the environment, says its port on stdout, and ends when its stdin does. It never asks Stripe.
import http from 'node:http'
import { createRequire } from 'node:module'

// The CommonJS build: in the other one, runMigrations uses __dirname, which is not there.
const { StripeSync, runMigrations } = createRequire(import.meta.url)('@supabase/stripe-sync-engine')

const { DATABASE_URL, WEBHOOK_SECRET, MAX_CONNECTIONS } = process.env

// Its migrations only log what goes wrong.
let failure
const logger = { info() {}, debug() {}, warn() {}, error: (error) => (failure = error) }
await runMigrations({ databaseUrl: DATABASE_URL, schema: 'stripe', logger })
if (failure) throw failure

const sync = new StripeSync({
  poolConfig: { connectionString: DATABASE_URL, max: Number(MAX_CONNECTIONS) },
  schema: 'stripe',
  stripeSecretKey: 'sk_test_none',
  stripeWebhookSecret: WEBHOOK_SECRET,
  autoExpandLists: false,
  backfillRelatedEntities: false,
  revalidateObjectsViaStripeApi: [],
})

const server = http.createServer((request, response) => {
  const chunks = []
  request.on('data', (chunk) => chunks.push(chunk))
  request.on('end', async () => {
    try {
      await sync.processWebhook(Buffer.concat(chunks), request.headers['stripe-signature'])
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"outcome":"processed"}')
    } catch (error) {
      response.writeHead(500, { 'content-type': 'application/json' }).end(JSON.stringify({ error: String(error) }))
    }
  })
})
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => console.log(server.address().port))
process.stdin.resume()
process.stdin.on('end', () => process.exit(0))
