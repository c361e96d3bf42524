package config

import "time"

// Config is the effective configuration of a process. Each field is one setting: its tag names the environment variable
// (which is also its key in the configuration file), its default, and what is allowed; its comment in the doc tag is the
// text of the reference. A group tag opens a section of the reference. A field of type Secret is never shown and may come
// from the file named by NAME_FILE.
type Config struct {
	Target          []string      `group:"The process" env:"TARGET" default:"all" flag:"target" doc:"The services this process runs: all, or a comma list of gateway, workspaces, events, runtime."`
	Port            int           `env:"PORT" default:"0" flag:"port" min:"0" max:"65535" doc:"The port to listen on. 0 means the usual one of the target: 3001 for all and gateway, 3002 workspaces, 3003 runtime, 3004 events."`
	Host            string        `env:"HOST" default:"" flag:"host" doc:"The address to listen on. Empty means every address of the machine."`
	DataDir         string        `env:"DATA_DIR" default:"./data" flag:"data-dir" doc:"The directory of the embedded engines. Created when it does not exist; one process at a time."`
	ShutdownTimeout time.Duration `env:"GRACEFUL_SHUTDOWN_TIMEOUT" default:"30s" min:"1s" max:"10m" doc:"How long a stopping process waits for requests and workers to finish."`
	DrainDelay      time.Duration `env:"DRAIN_DELAY" default:"0s" min:"0s" max:"5m" doc:"How long a stopping process keeps serving after /readyz turned not ready, so that load balancers notice. Set 5s behind one."`
	LogLevel        string        `env:"LOG_LEVEL" default:"info" oneof:"debug,info,warn,error" doc:"The least severe level that is logged. debug adds one line per request."`
	LogFormat       string        `env:"LOG_FORMAT" default:"auto" oneof:"auto,json,text" doc:"json for machines, text for people; auto is text on a terminal and json elsewhere."`

	AdminEmail       string   `group:"First start" env:"ADMIN_EMAIL" default:"admin@localhost" form:"email" doc:"The e-mail address of the super admin that is created when there is none."`
	AdminPassword    Secret   `env:"ADMIN_PASSWORD" default:"" doc:"The password of that super admin. Empty means that one is generated and shown once."`
	SuperAdminEmails []string `env:"SUPER_ADMIN_EMAILS" default:"" form:"email" doc:"E-mail addresses of further accounts that are super admins, as a comma list."`

	APIURL           string `group:"Addresses" env:"API_URL" default:"" url:"http,https" form:"versioned" doc:"The public address of the API, ending in /v2; also the audience of tokens. Empty means http://localhost:{port}/v2."`
	OIDCProviderURL  string `env:"OIDC_PROVIDER_URL" default:"" url:"http,https" doc:"The issuer of tokens. Empty means API_URL without /v2."`
	InternalAPIURL   string `env:"INTERNAL_API_URL" default:"" url:"http,https" form:"versioned" doc:"The address at which services reach the gateway, ending in /v2. Empty means API_URL."`
	WorkspacesAPIURL string `env:"WORKSPACES_API_URL" default:"http://localhost:3002" url:"http,https" doc:"Where the gateway finds the workspaces service when it runs in another process."`
	RuntimeAPIURL    string `env:"RUNTIME_API_URL" default:"http://localhost:3003" url:"http,https" doc:"Where the gateway finds the runtime service when it runs in another process."`
	EventsAPIURL     string `env:"EVENTS_API_URL" default:"http://localhost:3004" url:"http,https" doc:"Where the gateway finds the events service when it runs in another process."`
	InternalAPIKey   Secret `env:"INTERNAL_API_KEY" default:"" minlen:"24" doc:"The key that services prove themselves with; also opens /v2/readiness and /metrics. Required when services run in separate processes, and the same for all; otherwise generated and kept in the data directory."`

	DatabaseURL       Secret   `group:"Storage" env:"DATABASE_URL" alias:"PERMISSIONS_STORAGE_HOST,USERS_STORAGE_HOST" default:"" url:"postgres,postgresql" doc:"A postgres:// address. Empty means SQLite in the data directory."`
	DatabaseMaxConns  int      `env:"DATABASE_MAX_CONNS" default:"20" min:"2" max:"1000" doc:"How many PostgreSQL connections one process may hold."`
	BrokerDriver      string   `env:"BROKER_DRIVER" default:"sql" oneof:"sql,nats" doc:"Where consumers read the event log: the database, or a NATS JetStream cluster fed from it."`
	BrokerHost        []string `env:"BROKER_HOST" default:"nats://localhost:4222" url:"nats,tls,ws,wss" doc:"The NATS servers, as a comma list. User and password go into BROKER_USER and BROKER_PASSWORD."`
	BrokerUser        string   `env:"BROKER_USER" default:"" doc:"The NATS user."`
	BrokerPassword    Secret   `env:"BROKER_PASSWORD" default:"" doc:"The NATS password."`
	BrokerTLSCAFile   string   `env:"BROKER_TLS_CA_FILE" default:"" file:"true" doc:"A PEM file with the certificate authority of the NATS servers."`
	BrokerNamespace   string   `env:"BROKER_NAMESPACE" default:"" pattern:"^[A-Za-z0-9_-]*$" doc:"A prefix of the NATS stream and subjects, when several installations share a cluster."`
	BrokerReplicas    int      `env:"BROKER_REPLICAS" default:"3" min:"1" max:"5" doc:"How many NATS servers hold each event."`
	SessionsHost      Secret   `env:"SESSIONS_STORAGE_HOST" default:"" url:"redis,rediss" doc:"A redis:// or rediss:// address for sessions and other short-lived state. Empty means the database."`
	SessionsPassword  Secret   `env:"SESSIONS_STORAGE_PASSWORD" default:"" doc:"The Redis password, when it is not part of the address."`
	SessionsTLSCAFile string   `env:"SESSIONS_STORAGE_TLS_CA_FILE" default:"" file:"true" doc:"A PEM file with the certificate authority of the Redis server."`
	LimitsHost        Secret   `env:"RATE_LIMITS_STORAGE_HOST" default:"" url:"redis,rediss" doc:"A redis:// or rediss:// address for rate limits. Empty means SESSIONS_STORAGE_HOST, and without that the memory of the process."`
	LimitsPassword    Secret   `env:"RATE_LIMITS_STORAGE_PASSWORD" default:"" doc:"The Redis password for rate limits."`
	StorageType       string   `env:"WORKSPACES_STORAGE_TYPE" default:"FILESYSTEM" oneof:"FILESYSTEM,S3_LIKE" doc:"Where contents are kept: in a directory, or in an S3 bucket."`
	StorageDir        string   `env:"WORKSPACES_STORAGE_FILESYSTEM_DIRPATH" default:"" doc:"The directory of contents. Empty means blobs in the data directory."`
	S3Endpoint        string   `env:"WORKSPACES_STORAGE_S3_LIKE_ENDPOINT" default:"" url:"http,https" doc:"The address of the S3 service."`
	S3Bucket          string   `env:"WORKSPACES_STORAGE_S3_LIKE_BUCKET_NAME" default:"atelier" doc:"The bucket; created when it does not exist."`
	S3Region          string   `env:"WORKSPACES_STORAGE_S3_LIKE_REGION" default:"us-east-1" doc:"The region of the bucket."`
	S3AccessKey       string   `env:"WORKSPACES_STORAGE_S3_LIKE_ACCESS_KEY" default:"" doc:"The access key."`
	S3SecretKey       Secret   `env:"WORKSPACES_STORAGE_S3_LIKE_SECRET_KEY" default:"" doc:"The secret key."`

	JWKSAlg            string        `group:"Tokens" env:"JWKS_ALG" default:"RS256" oneof:"RS256,RS384,RS512,PS256,PS384,PS512,ES256,ES384,ES512,EdDSA" doc:"The signature algorithm of new signing keys."`
	JWKSKty            string        `env:"JWKS_KTY" default:"RSA" oneof:"RSA,EC,OKP" doc:"The key family of new signing keys; it must fit JWKS_ALG."`
	JWKSSize           int           `env:"JWKS_SIZE" default:"2048" min:"2048" max:"8192" doc:"The size of new RSA keys in bits. The curve of EC and OKP keys follows from JWKS_ALG."`
	AccessTokensMaxAge time.Duration `env:"ACCESS_TOKENS_MAX_AGE" default:"2592000s" unit:"s" min:"1m" max:"8760h" doc:"How long a token lives, in seconds."`

	RequestTimeout         time.Duration `group:"HTTP" env:"REQUEST_TIMEOUT" default:"60s" min:"1s" max:"1h" doc:"How long a request may take. 120s is a good value for long model calls."`
	RequestMaxSize         int           `env:"REQUEST_MAX_SIZE" default:"1mb" unit:"b" min:"1024" max:"1073741824" doc:"The largest JSON body."`
	CORSOrigins            []string      `env:"CORS_ADDITIONAL_ALLOWED_ORIGINS" default:"" form:"origin" doc:"Origins whose pages may call the API, as a comma list; an entry that begins with a dot allows all sub-domains."`
	OverwriteCorrelationID bool          `env:"OVERWRITE_CORRELATION_ID_HEADER" default:"yes" doc:"Whether a correlation id sent by the client is replaced."`
	TrustedProxies         []string      `env:"TRUSTED_PROXIES" default:"" form:"network" doc:"Networks whose X-Forwarded-For is believed, as a comma list of CIDRs or addresses."`
	ReadinessCacheTTL      time.Duration `env:"READINESS_CACHE_TTL_MS" default:"30000ms" unit:"ms" min:"0s" max:"1h" doc:"How long a readiness report is kept, in milliseconds."`
	DisableRateLimit       bool          `env:"DISABLE_RATE_LIMIT" default:"no" doc:"Turns every rate limit off."`
	RateLimitLogin         int           `env:"RATE_LIMIT_SVC_LOGIN" default:"5" min:"1" max:"1000000" doc:"Sign-in attempts per minute for one account."`
	RateLimitLoginAddress  int           `env:"RATE_LIMIT_LOGIN_ADDRESS" default:"30" min:"1" max:"1000000" doc:"Sign-in attempts per minute from one address."`
	RateLimitAnonymous     int           `env:"RATE_LIMIT_ANONYMOUS_LOGIN" default:"10" min:"1" max:"1000000" doc:"Anonymous sign-ins per minute from one address."`

	EventMaxLen int `group:"Events" env:"BROKER_EMIT_MAXLEN" default:"100000" min:"1000" max:"10000000" doc:"The largest event, in characters."`

	EgressAllowedNetworks []string `group:"Outbound" env:"EGRESS_ALLOWED_NETWORKS" default:"" form:"network" doc:"Private networks that calls made for users may reach, as a comma list of CIDRs or addresses."`
	ExtraCACerts          string   `env:"EXTRA_CA_CERTS" default:"" file:"true" doc:"A PEM file with further certificate authorities to trust for every outbound TLS connection, git included."`
}
