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

	SecretsMasterKeys Secret `group:"Secrets" env:"SECRETS_MASTER_KEYS" default:"" doc:"The keys that encrypt the secrets of workspaces: a comma list of id:key, where a key is 32 bytes in base64, or a JSON list of objects with kid, key (64 hexadecimal digits) and active. The first, or the active one, is for new values; the others open older ones. Empty means one that is made from INTERNAL_API_KEY, which opens its values also when keys are set later."`

	UploadsMaxSize    int      `group:"Files" env:"UPLOADS_MAX_SIZE" default:"10000000" unit:"b" min:"1024" max:"1073741824" doc:"The largest file that can be uploaded into a workspace."`
	UploadsVisibility string   `env:"UPLOADS_DEFAULT_VISIBILITY" default:"public" oneof:"public,private" doc:"Who may read an uploaded file that does not say it: everybody who knows its address, or those whom the rules of the workspace allow."`
	UploadsAllowed    []string `env:"UPLOADS_ALLOWED_MIMETYPES" default:"image/*,text/*,video/*,audio/*,application/*,font/*" form:"mediatype" doc:"The types of files that may be uploaded, as a comma list; image/* is every type of images."`
	UploadsForbidden  []string `env:"UPLOADS_FORBIDDEN_MIMETYPES" default:"" form:"mediatype" doc:"The types of files that may not be uploaded although UPLOADS_ALLOWED_MIMETYPES names them."`
	DownloadURL       string   `env:"UPLOADS_FILESYSTEM_DOWNLOAD_URL" default:"" url:"http,https" form:"versioned" doc:"The address in links to files, ending in /v2: that of this installation under a host of its own, so that files never share an origin with anything else. Empty means API_URL."`

	JWKSAlg            string        `group:"Tokens" env:"JWKS_ALG" default:"RS256" oneof:"RS256,RS384,RS512,PS256,PS384,PS512,ES256,ES384,ES512,EdDSA" doc:"The signature algorithm of new signing keys."`
	JWKSKty            string        `env:"JWKS_KTY" default:"RSA" oneof:"RSA,EC,OKP" doc:"The key family of new signing keys; it must fit JWKS_ALG."`
	JWKSSize           int           `env:"JWKS_SIZE" default:"2048" min:"2048" max:"8192" doc:"The size of new RSA keys in bits. The curve of EC and OKP keys follows from JWKS_ALG."`
	JWKSRotation       time.Duration `env:"JWKS_ROTATION_DAYS" default:"720h" unit:"d" min:"2s" max:"8760h" doc:"How long a signing key signs before the next one takes over, in days."`
	AccessTokensMaxAge time.Duration `env:"ACCESS_TOKENS_MAX_AGE" default:"2592000s" unit:"s" min:"1m" max:"8760h" doc:"How long a token lives, in seconds. A signing key stays valid for as long after it was replaced."`
	AccessTokenLimit   time.Duration `env:"PERSONAL_TOKENS_MAX_AGE" default:"8760h" unit:"d" min:"1h" max:"87600h" doc:"The longest life of an access token (at:...) that its owner may choose, in days."`
	ServiceTokenMaxAge time.Duration `env:"SA_TOKEN_MAX_TTL" default:"24h" min:"1m" max:"8760h" doc:"The longest life of a token that a service account may ask for."`

	ConsoleURL        string        `group:"Accounts" env:"CONSOLE_URL" default:"" url:"http,https" doc:"The address of the console. Empty means the pages of this installation itself."`
	PagesHost         string        `env:"PAGES_HOST" default:"" pattern:"^(\\.[A-Za-z0-9.-]+(:[0-9]+)?)?$" doc:"The suffix of the hosts of pages, such as .pages.example.com; a workspace's pages live at its slug in front of it."`
	AccountValidation string        `env:"ACCOUNT_VALIDATION_METHOD" default:"email" oneof:"auto,email,manual" doc:"How a new account becomes usable: at once, by a mailed link, or by a super admin."`
	DisableSignin     bool          `env:"DISABLE_LOCAL_SIGNIN" default:"no" doc:"Turns sign-in with a password off, except for super admins, so that external providers are the only way in."`
	DisableSignup     bool          `env:"DISABLE_LOCAL_SIGNUP" default:"no" doc:"Turns sign-up off."`
	PasswordPattern   string        `env:"PASSWORD_VALIDATION_REGEXP" default:"^.{8,256}$" form:"regexp" doc:"What a new password must match."`
	ForceMFA          bool          `env:"MFA_FORCE_LOCAL" default:"no" doc:"Whether accounts with a password must set up a second factor."`
	SessionMaxAge     time.Duration `env:"SESSION_COOKIES_MAX_AGE" default:"2592000s" unit:"s" min:"1m" max:"8760h" doc:"How long a browser stays signed in, in seconds."`
	ResetPasswordURL  string        `env:"RESET_PASSWORD_URL" default:"" url:"http,https" doc:"The page for a new password, in mails. Empty means /forgot of the console."`
	LoginURL          string        `env:"LOGIN_URL" default:"" url:"http,https" doc:"The sign-in page. Empty means /signin of the console."`
	PictureMaxSize    int           `env:"PROFILE_PICTURE_MAX_SIZE" default:"4000000" unit:"b" min:"1024" max:"104857600" doc:"The largest profile picture."`
	AuthProviders     string        `env:"AUTH_PROVIDERS_CONFIG" alias:"AUTH_PROVIDERS_CONFIG_PATH" default:"" file:"true" doc:"A YAML file with external OpenID Connect providers."`

	StudioClientID    string `group:"OpenID Connect" env:"OIDC_STUDIO_CLIENT_ID" default:"local-client-id" pattern:"^[A-Za-z0-9._~-]{1,100}$" doc:"The client id of the console."`
	ExternalClients   string `env:"OIDC_EXTERNAL_CLIENTS" default:"" doc:"Further public clients, as a JSON array of objects with client_id and redirect_uris."`
	RegistrationToken Secret `env:"OIDC_CLIENT_REGISTRATION_TOKEN" default:"" minlen:"16" doc:"The token that opens dynamic client registration. Empty means that it is closed."`
	SessionCookieName string `env:"OIDC_SESSION_COOKIE_NAME" default:"_sessionv2" pattern:"^[A-Za-z0-9_-]{1,50}$" doc:"The cookie that keeps a browser signed in."`

	EmailDriver string `group:"Mail" env:"EMAIL_DRIVER" default:"" oneof:"smtp,file" doc:"How mails leave: through an SMTP server, or as files in the data directory. Empty means smtp when SMTP_HOST is set and file otherwise."`
	EmailFrom   string `env:"EMAIL_FROM" default:"atelier@localhost" form:"email" doc:"The sender of mails."`
	SMTPHost    string `env:"SMTP_HOST" default:"" doc:"The SMTP server."`
	SMTPPort    int    `env:"SMTP_PORT" default:"587" min:"1" max:"65535" doc:"Its port."`
	SMTPUser    string `env:"SMTP_USER" default:"" doc:"The SMTP user."`
	SMTPPass    Secret `env:"SMTP_PASS" default:"" doc:"The SMTP password."`
	SMTPSecure  string `env:"SMTP_SECURE" default:"starttls" oneof:"starttls,tls,none" doc:"How the connection to the SMTP server is protected: STARTTLS, TLS from the first byte, or not at all."`

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
	RateLimitSignup        int           `env:"RATE_LIMIT_SIGNUP" default:"5" min:"1" max:"1000000" doc:"Sign-ups per minute from one address."`
	RateLimitReset         int           `env:"RATE_LIMIT_PASSWORD_RESET" default:"5" min:"1" max:"1000000" doc:"Password resets that may be asked for per minute from one address."`
	RateLimitExchange      int           `env:"RATE_LIMIT_TOKEN_EXCHANGE" default:"60" min:"1" max:"1000000" doc:"Token exchanges per minute from one address."`
	RateLimitUser          int           `env:"RATE_LIMIT_USER" default:"3000" min:"1" max:"10000000" doc:"Calls per minute of one signed-in user."`
	RateLimitKey           int           `env:"RATE_LIMIT_API_KEY" default:"6000" min:"1" max:"10000000" doc:"Calls per minute with one API key."`
	RateLimitAddress       int           `env:"RATE_LIMIT_ADDRESS" default:"600" min:"1" max:"10000000" doc:"Calls per minute of a visitor, or without a credential from one address (IPv6: one /64 network)."`
	RateLimitEvents        int           `env:"RATE_LIMIT_SEARCH_EVENTS" default:"1200" min:"1" max:"10000000" doc:"Calls per minute of one caller that emit or search events."`
	RateLimitCreate        int           `env:"RATE_LIMIT_CREATE_WORKSPACE" default:"120" min:"1" max:"10000000" doc:"Workspaces that one caller may create per minute."`
	RateLimitImport        int           `env:"RATE_LIMIT_IMPORT_WORKSPACE" default:"120" min:"1" max:"10000000" doc:"Imports, pulls and duplications of one caller per minute."`
	RateLimitUpload        int           `env:"RATE_LIMIT_UPLOAD_FILE" default:"300" min:"1" max:"10000000" doc:"Uploads of one caller per minute."`
	RateLimitContacts      int           `env:"RATE_LIMIT_CONTACTS" default:"120" min:"1" max:"10000000" doc:"Searches for people of one caller per minute."`
	CredentialFailures     int           `env:"RATE_LIMIT_CREDENTIAL_FAILURES" default:"10" min:"1" max:"1000000" doc:"Wrong credentials per minute for one account, token or key."`
	CredentialFailuresNet  int           `env:"RATE_LIMIT_CREDENTIAL_FAILURES_ADDRESS" default:"30" min:"1" max:"1000000" doc:"Wrong credentials per minute from one address (IPv6: one /64 network)."`
	Concurrent             int           `env:"CONCURRENT_REQUESTS" default:"100" min:"1" max:"1000000" doc:"Requests of one caller that one process handles at the same time."`
	ConcurrentAddress      int           `env:"CONCURRENT_REQUESTS_ADDRESS" default:"50" min:"1" max:"1000000" doc:"Requests without a credential from one address that one process handles at the same time."`
	Streams                int           `env:"CONCURRENT_STREAMS" default:"100" min:"1" max:"1000000" doc:"Live feeds of events (SSE, WebSocket, socket.io) of one caller that one process serves at the same time. They do not count as requests."`
	StreamsAddress         int           `env:"CONCURRENT_STREAMS_ADDRESS" default:"50" min:"1" max:"1000000" doc:"Live feeds of visitors, or without a credential, from one address that one process serves at the same time."`
	QuotaPerDay            int           `env:"QUOTA_REQUESTS_PER_DAY" default:"0" min:"0" max:"1000000000" doc:"Calls of one caller per day (UTC). 0 means no quota."`

	WriteLockTimeout time.Duration `group:"Workspaces" env:"WORKSPACE_WRITE_LOCK_TIMEOUT_MINUTES" default:"30m" unit:"m" min:"1m" max:"24h" doc:"When the write lock of a workspace expires, in minutes; that of a merge conflict never does."`
	BinAge           time.Duration `env:"WORKSPACE_BIN_DAYS" default:"720h" unit:"d" min:"0s" max:"87600h" doc:"How long a deleted workspace can be restored, in days."`
	HistoryAge       time.Duration `env:"WORKSPACE_HISTORY_DAYS" default:"2160h" unit:"d" min:"24h" max:"87600h" doc:"How long the edits of a workspace can be looked up and undone, in days."`

	WorkspaceGroups   string        `group:"Platform repositories" env:"WORKSPACE_GROUPS" default:"" doc:"Groups of workspaces, for bulk operations: a JSON object from names to lists of labels, any of which a workspace needs to be in the group. WORKSPACES_GROUP_{name}_LABELS, a comma list of labels, defines one group."`
	StartupGroups     []string      `env:"STARTUP_IMPORT_GROUPS" default:"" doc:"The groups that are imported from STARTUP_IMPORT_REPOSITORY when the workspaces service starts, one after another."`
	StartupRepository string        `env:"STARTUP_IMPORT_REPOSITORY" default:"" doc:"The id of the platform repository that STARTUP_IMPORT_GROUPS are imported from."`
	GitDirPath        string        `env:"WORKSPACES_STORAGE_GIT_DIRPATH" default:"" doc:"Where clones of repositories are kept. They are a cache and can be removed at any time. Empty means versioning in DATA_DIR."`
	GitSigningKey     Secret        `env:"GIT_SIGNING_KEY" default:"" doc:"An SSH private key without a passphrase that signs the commits of pushes and merges. Empty means that they are not signed."`
	DriftInterval     time.Duration `env:"WORKSPACES_DRIFT_INTERVAL" default:"5m" min:"0s" max:"24h" doc:"How often each workspace is compared with the repositories it was pushed to or pulled from. 0s turns it off."`

	EventMaxLen    int           `group:"Events" env:"BROKER_EMIT_MAXLEN" default:"100000" min:"1000" max:"10000000" doc:"The largest event, in characters."`
	ExecutedMaxLen int           `env:"BROKER_EMIT_EXECUTED_AUTOMATION_MAXLEN" default:"10000" min:"1000" max:"10000000" doc:"The largest runtime.automations.executed, in characters. The largest fields of one that has more are replaced by LARGE_CONTENT_STRIPPED."`
	EventPrefixes  []string      `env:"BROKER_WHITELIST_EVENT_PREFIXES" default:"apps." doc:"Prefixes of types of the platform's own events that need not be in the catalogue, as a comma list."`
	EventRules     string        `env:"PREPROCESSING_RULES_FILEPATH" default:"" file:"true" doc:"A JSON file with rules that say what is taken out of events before they are stored. Empty means the rules that are built in."`
	SearchTimeout  time.Duration `env:"ELASTIC_SEARCH_TIMEOUT" default:"2000ms" unit:"ms" min:"10ms" max:"60s" doc:"How long a search of events may take, in milliseconds."`

	EventsRetention       int           `env:"EVENTS_RETENTION_DAYS" default:"1080" min:"-1" max:"36500" doc:"After how many days events are removed. -1 and 0 mean never."`
	EventsInactivity      int           `env:"EVENTS_CLEANUP_WORKSPACE_INACTIVITY_DAYS" default:"30" min:"-1" max:"36500" doc:"After how many days without an event those of a small workspace are removed, but not what tells of people's acts. -1 and 0 mean never."`
	EventsSmall           int           `env:"EVENTS_CLEANUP_WORKSPACE_MAX_EVENTS" default:"50" min:"-1" max:"1000000" doc:"How many events a workspace has at most to be small. -1 turns the removal off."`
	EventsDeleted         int           `env:"EVENTS_SCHEDULED_DELETION_DAYS" default:"30" min:"1" max:"36500" doc:"How many days the events of a workspace stay after it is gone."`
	EventsExecuted        time.Duration `env:"EVENTS_CLEANUP_AUTOMATION_EXECUTED_EXPIRATION" default:"336h" unit:"d" min:"0s" max:"87600h" doc:"After how many days runtime.automations.executed loses its payload and output. 0 means never."`
	EventsCleanupSchedule string        `env:"EVENTS_CLEANUP_SCHEDULE" default:"0 0 * * 0" doc:"When events are removed: minute, hour, day of month, month and day of week."`
	EventsStripSchedule   string        `env:"EVENTS_CLEANUP_EXECUTED_SCHEDULE" default:"30 3 * * *" doc:"When the events of executed automations lose their content."`
	EventsCleanupZone     string        `env:"EVENTS_CLEANUP_TIMEZONE" default:"UTC" doc:"The time zone of these schedules, as in Europe/Paris."`
	SocketPingInterval    time.Duration `env:"SOCKETIO_PING_INTERVAL" default:"15000ms" unit:"ms" min:"1s" max:"5m" doc:"How often clients of socket.io are asked whether they are alive, in milliseconds; at most half of REQUEST_TIMEOUT counts."`
	SocketCookieMaxAge    time.Duration `env:"SOCKETIO_COOKIE_MAX_AGE" default:"0s" unit:"s" min:"0s" max:"8760h" doc:"How long browsers keep the cookie io, by which load balancers know the instance that a client of socket.io polls, in seconds. 0 means until they are closed."`
	EventsStorage         string        `env:"EVENTS_STORAGE_DRIVER" default:"sql" oneof:"sql,elasticsearch,opensearch" doc:"What events are searched with: the database that they are stored in, or an index of them in Elasticsearch or OpenSearch."`
	EventsStorageHosts    []string      `env:"EVENTS_STORAGE_ES_HOST" default:"http://localhost:9200" url:"http,https" doc:"The nodes of Elasticsearch or OpenSearch, as a comma list. User and password go into EVENTS_STORAGE_ES_USER and EVENTS_STORAGE_ES_PASSWORD."`
	EventsStorageUser     string        `env:"EVENTS_STORAGE_ES_USER" default:"" doc:"The user of Elasticsearch or OpenSearch."`
	EventsStoragePassword Secret        `env:"EVENTS_STORAGE_ES_PASSWORD" default:"" doc:"The password of Elasticsearch or OpenSearch."`
	EventsStorageRefresh  bool          `env:"EVENTS_STORAGE_ES_BULK_REFRESH" default:"false" doc:"Whether events are found as soon as they are in the index. It costs the search engine much."`
	EventsStorageSpace    string        `env:"EVENTS_STORAGE_NAMESPACE" default:"" pattern:"^([a-zA-Z0-9][a-zA-Z0-9_-]{0,50})?$" doc:"A prefix of the names of the index, when several installations share a cluster. Empty means BROKER_NAMESPACE."`
	EventsStorageLayout   string        `env:"EVENTS_STORAGE_LAYOUT" default:"shared" oneof:"shared,workspace" doc:"Whether all workspaces share a data stream, or each has its own. A node takes 1,000 shards."`
	EventsFlushAt         int           `env:"EVENTS_BUFFER_FLUSH_AT" default:"500" min:"1" max:"10000" doc:"How many events are written to the index at once, at most."`
	EventsFlushEvery      time.Duration `env:"EVENTS_BUFFER_FLUSH_EVERY" default:"1000ms" unit:"ms" min:"100ms" max:"60s" doc:"How soon events in the index are found, in milliseconds. It holds for indices that are made from then on."`
	WebhooksTimeout       time.Duration `env:"WEBHOOKS_TIMEOUT" default:"15s" min:"1s" max:"60s" doc:"How long the endpoint of a webhook may take to answer."`
	WebhooksWorkers       int           `env:"WEBHOOKS_WORKERS" default:"200" min:"1" max:"10000" doc:"Webhooks that one process sends at the same time."`

	MaximumCalls       int           `group:"Automations" env:"MAXIMUM_SUCCESSIVE_CALLS" default:"20" min:"1" max:"1000" doc:"How many automations may lead to each other, by calls, events and requests."`
	AutomationTimeout  time.Duration `env:"AUTOMATION_TIMEOUT" default:"15m" min:"1s" max:"24h" doc:"How long a run may take that an event or a schedule started. One that a request started has REQUEST_TIMEOUT."`
	AutomationMemory   int           `env:"AUTOMATION_MEMORY" default:"64000000" unit:"b" min:"1000000" max:"4000000000" doc:"How much the variables of one run may take."`
	AutomationSteps    int           `env:"AUTOMATION_STEPS" default:"50000000" min:"1000" max:"100000000000" doc:"How many instructions one run may do."`
	AutomationRuns     int           `env:"AUTOMATION_RUNS" default:"64" min:"1" max:"100000" doc:"Runs started by events and schedules that one process does at the same time."`
	AutomationShare    int           `env:"AUTOMATION_RUNS_WORKSPACE" default:"16" min:"1" max:"100000" doc:"How many of these may be of one workspace."`
	AutomationQueue    int           `env:"AUTOMATION_QUEUE" default:"10000" min:"10" max:"10000000" doc:"How many runs of one workspace may wait. What would start more is refused with an error event."`
	DefaultLocale      string        `env:"DEFAULT_LOCALE" default:"en" doc:"The language of dates in expressions that name none."`
	DefaultZone        string        `env:"DEFAULT_TIMEZONE" default:"Europe/Paris" doc:"The time zone of dates in expressions that name none."`
	WaitTimeout        time.Duration `env:"WAIT_DEFAULT_TIMEOUT" default:"20s" unit:"s" min:"1s" max:"24h" doc:"How long the instruction wait waits when it does not say it, in seconds."`
	ScheduleFloor      string        `env:"SCHEDULES_MAXIMUM_OCCURRENCE_PATTERN" default:"*/15 * * * *" doc:"The most frequent schedule of automations: minute, hour, day of month, month and day of week."`
	SSEKeepAlive       time.Duration `env:"WEBHOOKS_SSE_KEEPALIVE" default:"5000ms" unit:"ms" min:"100ms" max:"10m" doc:"How often an endpoint may send a sign of life at most while it streams, in milliseconds."`
	ContextRunTime     time.Duration `env:"CONTEXT_RUN_EXPIRE_TIME" default:"60s" unit:"s" min:"1s" max:"720h" doc:"How long the run context is kept after it was last written, in seconds."`
	ContextVisitorTime time.Duration `env:"CONTEXT_UNAUTHENTICATED_SESSION_EXPIRE_TIME" default:"3600s" unit:"s" min:"1s" max:"8760h" doc:"How long the session context of a caller without a session is kept, in seconds."`
	ContextSocketTime  time.Duration `env:"CONTEXT_SOCKET_EXPIRE_TIME" default:"21600s" unit:"s" min:"1s" max:"8760h" doc:"How long the socket context is kept, in seconds."`
	ContextRunSize     int           `env:"CONTEXT_RUN_MAX_SIZE" default:"500000" unit:"b" min:"1000" max:"1000000000" doc:"How large the run context may be before it is reported; ten times as much is refused. So it is for the others."`
	ContextUserSize    int           `env:"CONTEXT_USER_MAX_SIZE" default:"100000" unit:"b" min:"1000" max:"1000000000" doc:"How large the user context may be."`
	ContextSessionSize int           `env:"CONTEXT_SESSION_MAX_SIZE" default:"1000000" unit:"b" min:"1000" max:"1000000000" doc:"How large the session context may be."`
	ContextSocketSize  int           `env:"CONTEXT_SOCKET_MAX_SIZE" default:"100000" unit:"b" min:"1000" max:"1000000000" doc:"How large the socket context may be."`
	ContextGlobalSize  int           `env:"CONTEXT_GLOBAL_MAX_SIZE" default:"500000" unit:"b" min:"1000" max:"1000000000" doc:"How large the global context may be."`
	ContextConfigSize  int           `env:"CONTEXT_CONFIG_MAX_SIZE" default:"100000" unit:"b" min:"1000" max:"1000000000" doc:"How large a configuration may be that an automation writes."`
	ContextLocalSize   int           `env:"CONTEXT_LOCAL_MAX_SIZE" default:"50000000" unit:"b" min:"1000" max:"1000000000" doc:"How large the variables of one automation may be before it is reported; AUTOMATION_MEMORY ends the run."`
	ThrottleOff        bool          `env:"RATE_LIMIT_DISABLED" default:"false" doc:"Turns the throttles of automations off, also those of single workspaces."`
	ThrottleRuns       int           `env:"RATE_LIMIT_AUTOMATIONS" default:"0" min:"0" max:"10000000" doc:"Automations that one workspace may begin per second; more are held back, never refused. 0 means as many as it likes. So it is for the others. The secret svc_ratelimit_automations of a workspace replaces it."`
	ThrottleRunsBurst  int           `env:"RATE_LIMIT_AUTOMATIONS_BURST" default:"400" min:"1" max:"10000000" doc:"How many automations it may begin at once."`
	ThrottleEmits      int           `env:"RATE_LIMIT_EMITS" default:"0" min:"0" max:"10000000" doc:"Events that automations of one workspace may emit per second."`
	ThrottleEmitsBurst int           `env:"RATE_LIMIT_EMITS_BURST" default:"100" min:"1" max:"10000000" doc:"How many events they may emit at once."`
	ThrottleFetch      int           `env:"RATE_LIMIT_FETCHS" default:"0" min:"0" max:"10000000" doc:"Requests that automations of one workspace may send per second."`
	ThrottleFetchBurst int           `env:"RATE_LIMIT_FETCHS_BURST" default:"200" min:"1" max:"10000000" doc:"How many requests they may send at once."`
	ThrottleLoops      int           `env:"RATE_LIMIT_REPEATS" default:"0" min:"0" max:"10000000" doc:"Iterations of loops that automations of one workspace may do per second."`
	ThrottleLoopsBurst int           `env:"RATE_LIMIT_REPEATS_BURST" default:"4000" min:"1" max:"10000000" doc:"How many iterations they may do at once."`
	FetchTimeout       time.Duration `env:"FETCH_TIMEOUT" default:"60s" min:"1s" max:"1h" doc:"How long a request of an automation may take until its answer is there. One that streams may go on as long as the run."`
	FetchAgent         string        `env:"FETCH_USER_AGENT_HEADER" default:"Atelier" doc:"What requests of automations say they come from, as User-Agent."`
	FetchForbidden     []string      `env:"FETCH_FORBIDDEN_HOSTS" default:"" doc:"Hosts that automations may not send requests to, as a comma list; one that begins with a dot is the domain and all below it."`
	FetchRetries       int           `env:"FETCH_MAX_RETRIES" default:"3" min:"0" max:"10" doc:"How often a request of an automation is repeated that failed in a way that may pass."`
	FetchRetryStatus   []string      `env:"FETCH_RETRY_STATUS" default:"429,503,502" doc:"The statuses after which a request is repeated, as a comma list."`
	FetchRetryCodes    []string      `env:"FETCH_RETRY_CODES" default:"ECONNRESET,UND_ERR_SOCKET,EPIPE,EHOSTUNREACH,ENETUNREACH" doc:"The broken connections after which a request is repeated, as a comma list; there are also ECONNREFUSED and ETIMEDOUT."`
	FetchHTTP2         bool          `env:"FETCH_ALLOW_H2" default:"false" doc:"Lets requests of automations speak HTTP/2 with servers that offer it."`
	CodeTimeout        time.Duration `env:"CODE_TIMEOUT" default:"20s" min:"100ms" max:"10m" doc:"How long a function of custom code may run."`
	CodeMemory         int           `env:"CODE_MEMORY" default:"100000000" unit:"b" min:"8000000" max:"4000000000" doc:"How much memory custom code of a workspace may use."`
	CodeWorkers        int           `env:"CODE_WORKERS" default:"16" min:"1" max:"1000" doc:"How many processes one instance runs custom code in."`
	CollectionRecords  int           `env:"COLLECTIONS_MAX_RECORDS" default:"1000000" min:"1" max:"1000000000" doc:"How many records all collections of one workspace may have."`
	CollectionBytes    int           `env:"COLLECTIONS_MAX_SIZE" default:"1000000000" unit:"b" min:"1000" max:"1000000000000" doc:"How large all collections of one workspace may be."`

	EgressAllowedNetworks []string `group:"Outbound" env:"EGRESS_ALLOWED_NETWORKS" default:"" form:"network" doc:"Private networks that calls made for users may reach, as a comma list of CIDRs or addresses."`
	ExtraCACerts          string   `env:"EXTRA_CA_CERTS" default:"" file:"true" doc:"A PEM file with further certificate authorities to trust for every outbound TLS connection, git included."`
}
