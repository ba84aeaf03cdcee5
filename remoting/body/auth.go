package body

// UserInfo is the body of the AUTH_…_USER requests and replies.
type UserInfo struct {
	Username   string
	Password   string
	UserType   string // Super or Normal
	UserStatus string // enable or disable
}

func (u *UserInfo) members(m *members) {
	m.optStr("password", &u.Password)
	m.optStr("userStatus", &u.UserStatus)
	m.optStr("userType", &u.UserType)
	m.optStr("username", &u.Username)
}

// ACLInfo is the body of the AUTH_…_ACL requests and replies (AclInfo).
type ACLInfo struct {
	Subject  string // User:name
	Policies []PolicyInfo
}

func (a *ACLInfo) members(m *members) {
	if m.atIf(a.Policies != nil, "policies") {
		listOf(m.x, &a.Policies, object[PolicyInfo])
	}
	m.optStr("subject", &a.Subject)
}

// PolicyInfo is one policy of a subject.
type PolicyInfo struct {
	PolicyType string // Custom or Default
	Entries    []PolicyEntryInfo
}

func (p *PolicyInfo) members(m *members) {
	if m.atIf(p.Entries != nil, "entries") {
		listOf(m.x, &p.Entries, object[PolicyEntryInfo])
	}
	m.optStr("policyType", &p.PolicyType)
}

// PolicyEntryInfo allows or denies actions on one resource.
type PolicyEntryInfo struct {
	Resource  string
	Actions   []string
	SourceIPs []string
	Decision  string
}

func (p *PolicyEntryInfo) members(m *members) {
	m.optStrs("actions", &p.Actions)
	m.optStr("decision", &p.Decision)
	m.optStr("resource", &p.Resource)
	m.optStrs("sourceIps", &p.SourceIPs)
}
