"""The service's side of the processes in which providers run: started when first wanted, ended when idle or unwell."""
