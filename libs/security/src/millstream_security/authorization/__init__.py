"""What a principal may do: ACLs and the authorizer over them, as Kafka's StandardAuthorizer has it. Pure."""
