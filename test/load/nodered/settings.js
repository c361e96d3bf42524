// Node-RED with nothing but the flow: no editor, no log of requests.
module.exports = {
  flowFile: 'flow.json',
  httpAdminRoot: false,
  disableEditor: true,
  uiHost: '127.0.0.1',
  uiPort: Number(process.env.PORT),
  credentialSecret: false,
  logging: { console: { level: 'info', metrics: false, audit: false } },
};
