package tenant

// The codes of failures.
const (
	CodeInvalidConfig     Code = "invalid_config"
	CodeInvalidTenantID   Code = "invalid_tenant_id"
	CodeTenantIDChanged   Code = "tenant_id_changed"
	CodeUnknownKey        Code = "unknown_key"
	CodeForeign           Code = "foreign_object"
	CodeNotFound          Code = "not_found"
	CodeProtected         Code = "deletion_protected"
	CodeNoPool            Code = "no_pool"
	CodePoolFull          Code = "pool_full"
	CodePoolBehind        Code = "pool_behind"
	CodePlacementChange   Code = "placement_change"
	CodeMigrationsFolder  Code = "migrations_unreadable"
	CodeMigrationEdited   Code = "migration_edited"
	CodeMigrationOrder    Code = "migration_out_of_order"
	CodeDatabaseAhead     Code = "database_ahead"
	CodeMigrationFailed   Code = "migration_failed"
	CodeDatabaseDrift     Code = "database_drift"
	CodeSeedInvalid       Code = "seed_invalid"
	CodeSeedEdited        Code = "seed_edited"
	CodeSeedFailed        Code = "seed_failed"
	CodeHostnameForbidden Code = "hostname_forbidden"
	CodeHostnameTaken     Code = "hostname_taken"
	CodeProofMissing      Code = "proof_missing"
	CodeAdminRefused      Code = "administrator_refused"
	CodeMailRefused       Code = "mail_refused"
	CodeConflict          Code = "conflict"
	CodeBusy              Code = "busy"
	CodeUnavailable       Code = "unavailable"
	CodeCanceled          Code = "canceled"
	CodeLeaseHeld         Code = "lease_held"
	CodeLeaseLost         Code = "lease_lost"
	CodeStorage           Code = "storage"
	CodeTerraform         Code = "terraform_failed"
	CodeTerraformLock     Code = "terraform_state_locked"
	CodeTerraformState    Code = "terraform_state_unreadable"
	CodeCorrupt           Code = "corrupt"
	CodeTerraformKilled   Code = "terraform_killed"
	CodeTerraformMissing  Code = "terraform_missing"
	CodeDestroyRefused    Code = "destroy_refused"
	CodeInternal          Code = "internal"
)

// CodeInfo is what there is to say about a code: the documentation and the default advice come from it.
type CodeInfo struct {
	Code    Code
	Class   Class
	Meaning string
	Remedy  string
}

// Info returns the code's row of Codes; an unknown code counts as CodeInternal.
func (c Code) Info() CodeInfo {
	var internal CodeInfo
	for _, info := range Codes() {
		if info.Code == c {
			return info
		}
		if info.Code == CodeInternal {
			internal = info
		}
	}
	return internal
}

// Codes lists every code with its default class, its meaning and what a person should do.
func Codes() []CodeInfo {
	return []CodeInfo{
		{
			CodeInvalidConfig,
			Terminal,
			"The configuration cannot work.",
			"Mend the configuration as the message says, then apply again.",
		},
		{
			CodeInvalidTenantID,
			Terminal,
			"The tenant_id is not a DNS label, or is reserved.",
			"Choose another tenant_id: 1–63 of a-z, 0-9 and '-', not a reserved name.",
		},
		{
			CodeTenantIDChanged,
			Terminal,
			"The configuration gives an existing tenant another tenant_id.",
			"Put the old tenant_id back. To onboard another tenant, use a state (workspace) of its own.",
		},
		{
			CodeUnknownKey,
			Terminal,
			"An object was marked, or a secret derived, with a key that is not configured.",
			"Add the key with this id to keys (or TENANT_KEYS) again; it may stand behind the current one.",
		},
		{
			CodeForeign,
			Terminal,
			"An object of that name exists and does not carry our mark; it was left as it is.",
			"Find out who made it. Rename or remove it yourself, or choose another tenant_id.",
		},
		{
			CodeNotFound,
			Terminal,
			"What is to be imported or claimed does not exist.",
			"Correct the name; to have it made, take the import or the claim out of the configuration.",
		},
		{
			CodeProtected,
			Terminal,
			"The object is protected against deletion.",
			"Set deletion_protection = false and apply that first, or leave the tenant in place.",
		},
		{
			CodeNoPool,
			Terminal,
			"No pool takes the tenant's plan, or the named pool does not exist.",
			"Add the plan to a pool in the provider's configuration, or correct the tenant's plan or pool.",
		},
		{
			CodePoolFull,
			Terminal,
			"Every pool that takes the tenant's plan is full.",
			"Raise max_tenants or add a pool for the plan, then apply again.",
		},
		{
			CodePoolBehind,
			Terminal,
			"The shared database of the pool has not applied all migrations of the folder.",
			"Migrate the pool first, for all of its tenants at once: tenantctl pool migrate.",
		},
		{
			CodePlacementChange,
			Terminal,
			"The change needs another pool or isolation, which would move the tenant's data.",
			"Keep the plan, or move the data yourself before changing it; nothing is moved by an apply.",
		},
		{
			CodeMigrationsFolder,
			Terminal,
			"The folder of migrations cannot be read or contains a file that is no migration.",
			"Correct the path or the file that the message names.",
		},
		{
			CodeMigrationEdited,
			Terminal,
			"A migration that was already applied has other contents now.",
			"Put the applied contents back and express the change as a new migration.",
		},
		{
			CodeMigrationOrder,
			Terminal,
			"A new migration has a version below the newest applied one.",
			"Give the new file a version above the newest applied one.",
		},
		{
			CodeDatabaseAhead,
			Terminal,
			"The database has applied migrations that the folder does not contain.",
			"Use a folder that has at least the applied files; an older release can't manage this tenant.",
		},
		{
			CodeMigrationFailed,
			Terminal,
			"A migration failed; those before it are applied.",
			"Mend the file that the message names; the next apply goes on with it.",
		},
		{
			CodeDatabaseDrift,
			Terminal,
			"The database was changed by hand in a way that a repair would lose something.",
			"Undo the change that the message names, or express it as a migration.",
		},
		{
			CodeSeedInvalid,
			Terminal,
			"The seed does not fit the tables: unknown table or column, missing or duplicate key.",
			"Correct the seed rows that the message names.",
		},
		{
			CodeSeedEdited,
			Terminal,
			"Seeded rows were edited and on_edit is \"error\".",
			"Undo the edits, or choose on_edit = \"keep\" or \"restore\".",
		},
		{
			CodeSeedFailed,
			Terminal,
			"The database refused a seed row; nothing of the seed was written.",
			"Correct the row that the message names.",
		},
		{
			CodeHostnameForbidden,
			Terminal,
			"The hostname can't be a custom hostname.",
			"Use a hostname of the customer's own, outside our zone, in lower-case ASCII (A-label) form.",
		},
		{
			CodeHostnameTaken,
			Terminal,
			"The hostname is verified for another tenant.",
			"Release it there first, or choose another hostname.",
		},
		{
			CodeProofMissing,
			Retryable,
			"The proof of control that the plan saw is no longer there.",
			"Have the customer publish the record again; then apply again.",
		},
		{
			CodeAdminRefused,
			Terminal,
			"The identity provider refused the first administrator.",
			"Correct the administrator's data as the message says; the next apply goes on from there.",
		},
		{
			CodeMailRefused,
			Terminal,
			"The mail can't be sent: its address, or what it says, is refused.",
			"Correct what the message names; then let the mail be tried again.",
		},
		{
			CodeConflict,
			Retryable,
			"Somebody else changed the object at the same time.",
			"Apply again; if it stays, look for a second writer.",
		},
		{
			CodeBusy,
			Retryable,
			"The object was in use for longer than the wait.",
			"Apply again; if it stays, look for the holder of the lock that the message names.",
		},
		{
			CodeUnavailable,
			Retryable,
			"An outside system did not answer or answered that it can't now.",
			"Nothing if it recovers: the next apply goes on. Otherwise look at the system that the message names.",
		},
		{CodeCanceled, Retryable, "The run was interrupted.", "Apply again; it goes on where it stopped."},
		{
			CodeLeaseHeld,
			Retryable,
			"Another process is working on the tenant.",
			"Wait until it has finished. A dead one holds nothing: its lock goes with it.",
		},
		{
			CodeLeaseLost,
			Retryable,
			"Another process has taken the tenant over; this one's results no longer count.",
			"Nothing: the new owner goes on. Look at the tenant's history for what it did.",
		},
		{
			CodeStorage,
			Retryable,
			"A file could not be read or written.",
			"Look at free space and permissions of the path that the message names, then apply again.",
		},
		{
			CodeTerraform,
			Terminal,
			"Terraform failed with an error of its own.",
			"Read Terraform's message; mend the configuration, then apply again.",
		},
		{
			CodeTerraformLock,
			Retryable,
			"Terraform's state is locked by another run.",
			"Wait until the other run ends; if it is dead for certain, use terraform force-unlock with the id in the message.",
		},
		{
			CodeTerraformState,
			Terminal,
			"Terraform's state of the tenant could not be opened.",
			"If the disk is full or the folder can't be written, mend that. A damaged state can be restored from its backup, " +
				"or moved away: an apply without it adopts what exists by its marks.",
		},
		{
			CodeCorrupt,
			Terminal,
			"A database file is damaged.",
			"Restore the file that the message names from a backup. Do not delete it: what it holds is nowhere else.",
		},
		{
			CodeTerraformKilled,
			Retryable,
			"Terraform was killed or lost its connection to the provider.",
			"Apply again; what was created is adopted by its mark.",
		},
		{
			CodeTerraformMissing,
			Terminal,
			"No usable Terraform was found.",
			"Install Terraform 1.11 or newer, or name one with --terraform.",
		},
		{
			CodeDestroyRefused,
			Terminal,
			"The plan would delete or replace something.",
			"Read the plan; if the deletion is meant, apply with --allow-destroy.",
		},
		{
			CodeInternal,
			Terminal,
			"A fault in this program.",
			"Report it with the message; other tenants are not affected.",
		},
	}
}
