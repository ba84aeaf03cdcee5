package remoting

// CreateACLRequestHeader is the reference's header class CreateAclRequestHeader.
type CreateACLRequestHeader struct {
	Subject string
}

func (h *CreateACLRequestHeader) fields(f *fieldSet) {
	f.str("subject", &h.Subject, optional)
}

// CreateUserRequestHeader is the reference's header class CreateUserRequestHeader.
type CreateUserRequestHeader struct {
	Username string
}

func (h *CreateUserRequestHeader) fields(f *fieldSet) {
	f.str("username", &h.Username, optional)
}

// DeleteACLRequestHeader is the reference's header class DeleteAclRequestHeader.
type DeleteACLRequestHeader struct {
	Subject    string
	PolicyType string
	Resource   string
}

func (h *DeleteACLRequestHeader) fields(f *fieldSet) {
	f.str("subject", &h.Subject, optional)
	f.str("policyType", &h.PolicyType, optional)
	f.str("resource", &h.Resource, optional)
}

// DeleteUserRequestHeader is the reference's header class DeleteUserRequestHeader.
type DeleteUserRequestHeader struct {
	Username string
}

func (h *DeleteUserRequestHeader) fields(f *fieldSet) {
	f.str("username", &h.Username, optional)
}

// GetACLRequestHeader is the reference's header class GetAclRequestHeader.
type GetACLRequestHeader struct {
	Subject string
}

func (h *GetACLRequestHeader) fields(f *fieldSet) {
	f.str("subject", &h.Subject, optional)
}

// GetUserRequestHeader is the reference's header class GetUserRequestHeader.
type GetUserRequestHeader struct {
	Username string
}

func (h *GetUserRequestHeader) fields(f *fieldSet) {
	f.str("username", &h.Username, optional)
}

// ListACLsRequestHeader is the reference's header class ListAclsRequestHeader.
type ListACLsRequestHeader struct {
	SubjectFilter  string
	ResourceFilter string
}

func (h *ListACLsRequestHeader) fields(f *fieldSet) {
	f.str("subjectFilter", &h.SubjectFilter, optional)
	f.str("resourceFilter", &h.ResourceFilter, optional)
}

// ListUsersRequestHeader is the reference's header class ListUsersRequestHeader.
type ListUsersRequestHeader struct {
	Filter string
}

func (h *ListUsersRequestHeader) fields(f *fieldSet) {
	f.str("filter", &h.Filter, optional)
}

// UpdateACLRequestHeader is the reference's header class UpdateAclRequestHeader.
type UpdateACLRequestHeader struct {
	Subject string
}

func (h *UpdateACLRequestHeader) fields(f *fieldSet) {
	f.str("subject", &h.Subject, optional)
}

// UpdateUserRequestHeader is the reference's header class UpdateUserRequestHeader.
type UpdateUserRequestHeader struct {
	Username string
}

func (h *UpdateUserRequestHeader) fields(f *fieldSet) {
	f.str("username", &h.Username, optional)
}
