Rails.application.routes.draw do
  # Alive or not, without the database.
  get "/up", to: ->(_env) { [200, { "Content-Type" => "text/plain" }, ["ok\n"]] }

  resources :shops, only: [] do
    resources :orders, only: :index
  end
end
